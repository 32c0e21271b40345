"""Which groups are measured again by themselves, after some were measured at the same time."""

from __future__ import annotations

import numpy as np
import pytest

from plink.measure.probing.uplinks import UplinkCollector
from plink.probes.uplinks.plan import Flow, GroupExchange, plan_flows

MEMBERS = {"a": [0, 1], "b": [2, 3], "c": [4, 5], "d": [6, 7], "e": [8, 9]}
GROUPS = list(MEMBERS.values())
LINKS_GBIT_S = np.ones((10, 10))
SENDING = [(0,), (1, 2), (3, 4)]
RECEIVING = [(0, 1), (2, 3), (4,)]


def collector_of(
    rates: dict[tuple[int, bool], float], *, busy: tuple[int, ...] = ()
) -> UplinkCollector:
    """What groups exchanged in the turns above, 0.4 each unless `rates` has it."""
    collector = UplinkCollector([f"h{k}" for k in range(10)], MEMBERS, {}, LINKS_GBIT_S)
    for turns, sends in ((SENDING, True), (RECEIVING, False)):
        for turn in turns:
            found = {
                group: [(flow, rates.get((group, sends), 0.4) / len(flows)) for flow in flows]
                for group, flows in zip(turn, plan_flows(GROUPS, turn), strict=True)
            }
            for group, own in found.items():
                beside = [rate for other in turn if other != group for rate in found[other]]
                is_busy = group in busy
                collector.take(
                    GroupExchange(group, sends, own, True, beside=beside, is_busy=is_busy)
                )
    return collector


def alone(collector: UplinkCollector, way: tuple[int, bool], gbit_s: float) -> None:
    group, sends = way
    (flows,) = plan_flows(GROUPS, [group])
    rates: list[tuple[Flow, float]] = [(flow, gbit_s / len(flows)) for flow in flows]
    collector.take(GroupExchange(group, sends, rates, is_whole=True))


def test_equal_uplinks_leave_no_doubt() -> None:
    assert collector_of({}).doubtful() == []


def test_a_direction_that_falls_behind_beside_others_is_in_doubt() -> None:
    collector = collector_of({(1, False): 0.2})
    first = collector.doubtful()
    assert (1, False) in first
    assert (0, False) not in first
    for way in first:
        alone(collector, way, 0.2 if way == (1, False) else 0.4)
    assert collector.doubtful() == []
    (found,) = [known for known in collector.uplinks() if known.group == "b"]
    assert (found.send_gbit_s, found.receive_gbit_s) == pytest.approx((0.4, 0.2))


def test_all_that_had_company_are_in_doubt_once_company_cost_one_of_them() -> None:
    """What lies behind the uplinks carries 0.4 altogether."""
    shared = {(1, True): 0.2, (2, True): 0.2, (3, True): 0.2, (4, True): 0.2}
    shared |= {(0, False): 0.2, (1, False): 0.2, (2, False): 0.2, (3, False): 0.2}
    collector = collector_of(shared)
    first = collector.doubtful()
    assert (4, True) in first
    for way in first:
        alone(collector, way, 0.4)
    for way in collector.doubtful():
        alone(collector, way, 0.4)
    assert collector.doubtful() == []
    assert [known.send_gbit_s for known in collector.uplinks()] == pytest.approx([0.4] * 5)
    assert [known.receive_gbit_s for known in collector.uplinks()] == pytest.approx([0.4] * 5)


def test_where_partners_had_no_room_is_in_doubt() -> None:
    slow = {(group, sends): 0.1 for group in (0, 3, 4) for sends in (True, False)}
    assert {(1, True), (2, True)} <= set(collector_of(slow).doubtful())


def test_what_a_busy_machine_may_have_held_back_is_in_doubt() -> None:
    assert collector_of({}, busy=(0, 1)).doubtful() == [(1, True), (0, False), (1, False)]
