"""Hosts that do not report how their meetings end are reminded, and then given up."""

from __future__ import annotations

from plink.probes.echo.grants import Schedule
from plink.probes.echo.liveness import ReportDeadlines
from support.pairs import all_pairs

# Round 0: 0-3, 1-2; round 1: 0-1, 2-3; round 2: 0-2, 1-3.
SCHEDULE = Schedule(4, all_pairs(4), [[(0, 3), (1, 2)], [(0, 1), (2, 3)], [(0, 2), (1, 3)]])


def reports() -> ReportDeadlines:
    made = ReportDeadlines(SCHEDULE, 10.0, 100.0)
    made.begin(0.0)
    return made


def test_a_host_that_goes_on_alone_is_told_and_then_given_up() -> None:
    it = reports()
    it.over(1, 2, 0, 5.0)
    assert it.is_owed(2, 0)
    assert it.late(15.0, in_turn=True) == []
    assert it.late(16.0, in_turn=True) == [(2, 1, False)]
    assert it.late(26.0, in_turn=True) == []
    assert it.late(27.0, in_turn=True) == [(2, 1, True)]


def test_a_late_report_is_enough() -> None:
    it = reports()
    it.over(1, 2, 0, 5.0)
    it.over(2, 1, 0, 14.0)
    assert not it.is_owed(2, 0)
    assert it.late(50.0, in_turn=True) == []


def test_a_host_may_be_behind() -> None:
    it = reports()
    it.over(2, 1, 0, 1.0)
    it.over(1, 2, 0, 1.0)
    # Host 2 has given host 3 up, which is still at its first meeting.
    it.over(2, 3, 1, 1.0)
    assert it.late(50.0, in_turn=True) == []
    assert it.late(50.0, in_turn=False) == [(3, 2, False)]
    it.over(3, 0, 0, 51.0)
    # It has only come to it now, and has its time from now on.
    assert (3, 2, True) not in it.late(60.0, in_turn=True)
    assert (3, 2, True) in it.late(62.0, in_turn=True)


def test_nobody_waits_for_a_host_that_is_lost() -> None:
    it = reports()
    it.over(1, 2, 0, 1.0)
    it.host_lost(2)
    it.over(3, 2, 1, 1.0)
    assert it.late(50.0, in_turn=False) == []


def test_saying_the_same_again_is_no_news() -> None:
    it = reports()
    it.over(1, 2, 0, 1.0)
    for now in range(2, 200):
        it.over(1, 2, 0, float(now))
    assert it.late(16.0, in_turn=True) == [(2, 1, False)]
    assert it.is_stalled(102.0)


def test_a_coordinator_that_heard_nothing_waits_anew() -> None:
    it = reports()
    it.over(1, 2, 0, 1.0)
    assert it.is_stalled(500.0)
    it.begin(500.0)
    assert not it.is_stalled(600.0)
    assert it.late(509.0, in_turn=True) == []
    assert it.late(511.0, in_turn=True) == [(2, 1, False)]
