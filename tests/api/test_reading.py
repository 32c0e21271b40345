"""`plink.read`: every kind of file, and files that are not plink's."""

from __future__ import annotations

from pathlib import Path

import pytest

import plink
from api.clusters import rack_cluster


def test_every_kind_of_file_is_read_as_what_it_is(tmp_path: Path) -> None:
    cluster = rack_cluster()
    cluster.save(tmp_path / "c.json")
    plink.order(cluster, time_limit_s=0.1).save(tmp_path / "o.json")
    plink.plan(cluster).save(tmp_path / "p.json")
    kinds = [type(plink.read(tmp_path / name)) for name in ("c.json", "o.json", "p.json")]
    assert kinds == [plink.MeasuredCluster, plink.RankOrder, plink.AggregationPlan]
    assert plink.RankOrder.read(tmp_path / "o.json").names
    assert plink.AggregationPlan.read(tmp_path / "p.json").kind


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    rack_cluster().save(tmp_path / "c.json")
    with pytest.raises(plink.WrongUseError, match=r"expected a plink.order file"):
        plink.RankOrder.read(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "is not one of plink's files"),
        ('{"format": "plink.future"}', "is a 'plink.future' file"),
        ("", "is empty"),
    ],
)
def test_what_is_no_file_of_plinks_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(plink.WrongUseError, match=message):
        plink.read(tmp_path / "x.json")


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(plink.WrongUseError, match="No such file or directory"):
        plink.read(tmp_path / "gone.json")
