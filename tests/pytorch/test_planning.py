"""Planned schedules on real ranks."""

from __future__ import annotations

from pathlib import Path

from pytorch import planning_checks as checks
from pytorch.processes import results


def test_all_ranks_take_a_planned_schedule_at_the_same_pass(tmp_path: Path) -> None:
    answers = results(checks.planned, 3, tmp_path)
    for arrangements, is_same, is_right, _ in answers:
        assert arrangements >= 2
        assert is_same
        assert is_right
    # Only rank 0 decides.
    assert answers[0][3][0] == "optimal"
    assert answers[1][3] == answers[2][3] == []


def test_schedules_by_name(tmp_path: Path) -> None:
    assert results(checks.by_name, 2, tmp_path) == [[]] * 2
