"""A group connects Gloo's ranks when something first needs them."""

from __future__ import annotations

from pathlib import Path

from pytorch import late_gloo_checks as checks
from pytorch.processes import results, running


def test_one_rank_that_needs_it_has_all_make_it(tmp_path: Path) -> None:
    found = results(checks.asked_for_by_one, 3, tmp_path)
    assert [said[:3] for said in found] == [[False, "0", "default_pg"]] * 3
    assert [said[3] for said in found] == [7.0] * 3
    assert [said[4:] for said in found] == [[[6.0, 6.0], "ProcessGroupGloo"]] * 3


def test_no_rank_has_it_before_all_are_connected(tmp_path: Path) -> None:
    """One that ended its group before another was connected left that one waiting for it."""
    assert results(checks.connected_late, 3, tmp_path, str(tmp_path)) == [True] * 3


def test_a_rank_that_cannot_make_it_is_named(tmp_path: Path) -> None:
    *others, own = results(checks.not_connected, 3, tmp_path)
    assert all("rank 2 is not connected: no such device" in said for said in others)
    assert "no such device" in own


def test_a_rank_that_is_gone_by_then_is_named(tmp_path: Path) -> None:
    with running(checks.gone_before_gloo_is_needed, 3, tmp_path) as ranks:
        said = [rank.hear() for rank in ranks[:2]]
    for sentence in said:
        assert "Gloo cannot be set up" in sentence
        assert "rank 2 (127.0.0.1) is lost" in sentence
