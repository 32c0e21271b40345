"""Disturbance, ends of meetings, pairs in flight: the decisions, without hosts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.echo.grants import ConcurrencyController, Grants, Placement, Schedule
from plink.probes.echo.protocol import MeetingOver, Rtt
from plink.probes.echo.readings import Delivery, compute_disturbance
from plink.probes.facts import HostFacts
from support.local_hosts import ListSink

efforts = st.builds(
    MeetingOver,
    st.just(0),
    st.just(1),
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.none() | st.integers(0, 10**7),
)


@pytest.mark.parametrize(
    ("one", "other", "shared", "share"),
    [
        # Two hosts of their own, one of which waited a fifth of the time.
        (MeetingOver(0, 1, 1000, 300, 200), MeetingOver(0, 1, 1000, 300, 0), False, 0.2),
        # On one processor the two take turns: each waits while the other runs.
        (MeetingOver(0, 1, 1000, 500, 250), MeetingOver(0, 1, 1000, 500, 250), True, 0.0),
        # There others ran for 300 of 1000 µs.
        (MeetingOver(0, 1, 1000, 350, 400), MeetingOver(0, 1, 990, 350, 400), True, 0.3),
        # There the packets were under way for 600 of 1000 µs, and nobody waited.
        (MeetingOver(0, 1, 1000, 200, 5), MeetingOver(0, 1, 1000, 200, 5), True, 0.01),
        # Two agents that poll run all the time.
        (MeetingOver(0, 1, 1000, 1000, 0), MeetingOver(0, 1, 1000, 1000, 0), False, 0.0),
        (MeetingOver(0, 1, 1000, 700, 300), MeetingOver(0, 1, 1000, 1000, 0), False, 0.3),
        (MeetingOver(0, 1, 1000, 500, None), MeetingOver(0, 1, 1000, 500, 250), True, None),
        (MeetingOver(0, 1, 0, 0, 0), MeetingOver(0, 1, 0, 0, 0), False, None),
    ],
)
def test_the_share_that_other_work_took(
    one: MeetingOver, other: MeetingOver, shared: bool, share: float | None
) -> None:
    assert compute_disturbance(one, other, same_processor=shared) == share
    assert compute_disturbance(other, one, same_processor=shared) == share


@given(efforts, efforts, st.booleans())
def test_a_share_is_a_share(one: MeetingOver, other: MeetingOver, shared: bool) -> None:
    share = compute_disturbance(one, other, same_processor=shared)
    assert share is None or 0.0 <= share <= 1.0


RTT = Rtt(3, 1, 10, 10, (12.0,))
OVER = MeetingOver(3, 1, 100, 50, 0)


def delivery_to(sink: ListSink) -> Delivery:
    """The delivery of two hosts that measure each other in round 3."""
    facts = [HostFacts("x86_64", "", cores=2, addresses=[])] * 2
    schedule = Schedule(2, frozenset({(0, 1), (1, 0)}), [[], [], [], [(0, 1)]])
    return Delivery(schedule, (10.0,), sink, Placement(facts, 1, is_free=True))


def test_a_meeting_ends_with_its_second_end() -> None:
    sink = ListSink()
    delivery = delivery_to(sink)
    delivery.reading(0, RTT)
    assert delivery.over(0, OVER) is None
    assert not sink.readings
    assert delivery.over(1, MeetingOver(3, 0, 110, 40, 5)) == pytest.approx(5 / 110)
    (reading,) = sink.readings
    assert (reading.source, reading.destination, reading.meeting_us) == (0, 1, 110)
    assert reading.rtt_us == {10.0: 12.0}


@pytest.mark.parametrize("is_over_first", [True, False])
def test_a_meeting_ends_with_the_host_that_is_lost(is_over_first: bool) -> None:
    sink = ListSink()
    delivery = delivery_to(sink)
    delivery.reading(0, RTT)
    if is_over_first:
        assert delivery.over(0, OVER) is None
    delivery.host_lost(1)
    assert len(sink.readings) == 1


def test_what_is_said_after_a_host_was_lost_ends_at_once() -> None:
    sink = ListSink()
    delivery = delivery_to(sink)
    delivery.host_lost(1)
    delivery.reading(0, RTT)
    assert delivery.over(0, OVER) is None
    assert len(sink.readings) == 1


def told(pace: ConcurrencyController, shares: dict[int, float], meetings: int) -> list[str]:
    """What a pace says of so many meetings, of which a share by pairs in flight is disturbed."""
    changes = []
    for number in range(meetings):
        is_disturbed = (number * 0.37) % 1.0 < shares[pace.most]
        change = pace.meeting(is_disturbed=is_disturbed)
        changes += [] if change is None else [change]
    return changes


def test_a_quiet_run_keeps_its_pace() -> None:
    pace = ConcurrencyController(8)
    assert told(pace, {8: 0.3}, 1000) == []
    assert pace.most == 8


def test_pairs_that_disturb_each_other_are_fewer() -> None:
    pace = ConcurrencyController(8)
    changes = told(pace, {8: 1.0, 4: 0.45, 2: 0.0}, 1000)
    assert pace.most == 4
    assert changes == ["4 pairs at a time from here on: 8 disturbed each other"]


def test_one_pair_at_a_time_is_the_least() -> None:
    pace = ConcurrencyController(3)
    changes = told(pace, {3: 1.0, 1: 0.0}, 1000)
    assert pace.most == 1
    assert changes == ["1 pair at a time from here on: 3 disturbed each other"]


def test_other_work_is_not_blamed_on_the_pairs() -> None:
    pace = ConcurrencyController(8)
    changes = told(pace, {8: 0.9, 4: 0.9}, 1000)
    assert pace.most == 8
    assert len(changes) == 2
    assert changes[1] == "8 pairs at a time again: fewer were disturbed as much"


def test_fewer_grants_from_here_on() -> None:
    grants = Grants([(0, 0, 1), (0, 2, 3), (0, 4, 5), (0, 6, 7)], 3)
    first = grants.next()
    assert len(first) == 3
    grants.limit(1)
    for grant in first[:2]:
        grants.over(grant.leader, 0)
        grants.over(grant.follower, 0)
    # Slot 0 is free and within the limit.
    (fourth,) = grants.next()
    assert fourth.slot == 0
    assert not grants.is_idle
    for grant in (first[2], fourth):
        grants.over(grant.leader, 0)
        grants.over(grant.follower, 0)
    assert grants.is_idle


def test_in_order_no_host_meets_a_later_partner_first() -> None:
    meetings = [(4, 0, 1), (5, 0, 2), (6, 2, 3)]
    assert [grant.round for grant in Grants(meetings, 3).next()] == [4, 6]
    assert [grant.round for grant in Grants(meetings, 3, in_order=True).next()] == [4]
