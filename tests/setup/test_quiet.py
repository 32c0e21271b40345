"""A test that needs quiet fails on a quiet machine, and says so on a busy one."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.quiet import needs_quiet


def say(stat: Path, busy: int, idle: int) -> None:
    stat.write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1 1\n")


def fail_meanwhile(stat: Path, busy: int) -> None:
    with needs_quiet(stat):
        say(stat, 50 + busy, 1050 - busy)
        raise AssertionError("late")


@pytest.mark.parametrize(("busy", "outcome"), [(100, AssertionError), (900, pytest.skip.Exception)])
def test_what_fails_is_left_out_only_on_a_busy_machine(
    tmp_path: Path, busy: int, outcome: type[BaseException]
) -> None:
    stat = tmp_path / "stat"
    say(stat, 50, 50)
    with pytest.raises(outcome):
        fail_meanwhile(stat, busy)


def test_what_passes_passes_on_a_busy_machine(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    say(stat, 50, 50)
    with needs_quiet(stat):
        say(stat, 1050, 50)
