"""A group connects Gloo's ranks when something first needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytorch import late_gloo_checks as checks
from pytorch.processes import Check, results, running


def test_one_rank_that_needs_it_has_all_make_it(tmp_path: Path) -> None:
    found = results(checks.asked_for_by_one, 3, tmp_path)
    assert [said[:3] for said in found] == [[False, "0", "default_pg"]] * 3
    assert [said[3] for said in found] == [7.0] * 3
    assert [said[4:] for said in found] == [[[6.0, 6.0], "ProcessGroupGloo"]] * 3


def test_no_rank_has_it_before_all_are_connected(tmp_path: Path) -> None:
    """A rank that ended its group before would be waited for by those that are not connected."""
    assert results(checks.connected_late, 3, tmp_path, str(tmp_path)) == [True] * 3


@pytest.mark.parametrize("is_late", [False, True])
def test_a_rank_that_cannot_make_it_is_named(is_late: bool, tmp_path: Path) -> None:
    *others, own = results(checks.not_connected, 3, tmp_path, is_late)
    assert all("rank 2 is not connected: no such device" in said for said in others), others
    assert "no such device" in own


@pytest.mark.parametrize("check", [checks.left_before, checks.left_meanwhile])
def test_a_rank_that_ends_its_group_is_named(check: Check, tmp_path: Path) -> None:
    *others, _ = results(check, 3, tmp_path, str(tmp_path))
    assert all("rank 2 is not connected: its group has ended" in said for said in others), others


def test_a_rank_that_is_gone_by_then_is_named(tmp_path: Path) -> None:
    with running(checks.gone_before_gloo_is_needed, 3, tmp_path) as ranks:
        said = [rank.hear() for rank in ranks[:2]]
    for sentence in said:
        assert "Gloo cannot be set up" in sentence
        assert "rank 2 (127.0.0.1) is lost" in sentence
