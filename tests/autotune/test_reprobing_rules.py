"""When hosts are probed again, how readings are merged, and what makes a new plan; no I/O."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.autotune.protocol.identity import identity
from plink.autotune.reprobing import merging, replanning
from plink.autotune.reprobing.backoff import FIRST_PAUSE_S, LONGEST_PAUSE_S, BackOff
from plink.autotune.reprobing.replanning import (
    Regrouped,
    Replanned,
    cluster_of,
    other_rates,
    regroup_cluster,
    replan,
)
from plink.autotune.tuner.masters import layout_of
from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.matrices import Matrix
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement
from plink.formats.plan import Plan, PlanRank
from plink.optimize.groups.finding import find_groups, with_groups
from plink.optimize.groups.request import GroupRequest
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from plink.plans.forest import make_forest

NEAR_US, FAR_US = 10.0, 40.0
RACKS = (0, 0, 0, 1, 1, 1)
MOVED = (0, 0, 1, 1, 1, 1)


def readings_us(racks: Sequence[int], factor: float = 1.0, seed: int = 1) -> Matrix:
    """Between hosts in these racks, give or take 3 %."""
    noise = np.random.default_rng(seed).uniform(0.97, 1.03, (len(racks),) * 2)
    rack = np.asarray(racks)
    times = np.where(rack[:, None] == rack[None, :], NEAR_US, FAR_US) * noise * factor
    np.fill_diagonal(times, np.nan)
    return times


def rtt_of(times_us: Matrix) -> RttMeasurement:
    counts = np.ones(times_us.shape, dtype=np.int64)
    by_percentile = {10.0: times_us, 50.0: 1.1 * times_us, 99.0: 2.0 * times_us}
    return RttMeasurement(
        tool="echo",
        rtt_us=by_percentile,
        reading=10.0,
        samples=counts,
        losses=0 * counts,
        disturbance=np.full(times_us.shape, 0.5),
    )


def cluster_in(racks: Sequence[int]) -> Cluster:
    hosts = [Host(f"h{i}", f"10.0.0.{i}", slots=1) for i in range(len(racks))]
    cluster = Cluster(hosts, rtt_of(readings_us(racks)))
    return with_groups(cluster, find_groups(cluster, GroupRequest()))


def planned(cluster: Cluster, kind: str = "2lha") -> Plan:
    return find_plan(cluster, PlanRequest(kind=kind)).plan


def again(before: Cluster, hosts: Sequence[int], racks: Sequence[int], factor: float) -> Regrouped:
    """Those hosts are measured again in a network that is now so, where all takes longer."""
    assert before.rtt is not None
    known = merging.controls(before.rtt, hosts)
    pairs = merging.with_pairs(merging.pairs_of(hosts, len(racks)), known)
    blank = merging.without_rtt(before.rtt, pairs)
    new_us = readings_us(racks, factor, seed=2)
    after = replace(
        blank, rtt_us={key: np.where(pairs, new_us, old) for key, old in blank.rtt_us.items()}
    )
    rtt, measured_us = merging.merge_rtt(before.rtt, after, pairs, known)
    assert np.nanmedian(after.readings_us / measured_us) == pytest.approx(factor, rel=0.05)
    return regroup_cluster(before, replace(before, rtt=rtt), measured_us)


def partition(groups: Sequence[Group]) -> set[frozenset[str]]:
    return {frozenset(group.hosts) for group in groups}


def test_a_request_that_cannot_be_is_no_reason_to_keep_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise WrongUseError("the request contradicts itself")

    before = cluster_in(RACKS)
    monkeypatch.setattr(replanning, "find_groups", refuse)
    with pytest.raises(WrongUseError, match="contradicts itself"):
        again(before, [2], MOVED, 1.0)


@pytest.mark.parametrize("factor", [1.0, 1.6])
def test_a_host_that_moved_makes_a_new_plan(factor: float) -> None:
    before = cluster_in(RACKS)
    plan = planned(before)
    found = again(before, [2], MOVED, factor)
    assert found.moved == ["h2"]
    assert partition(found.cluster.groups) == {
        frozenset({"h0", "h1"}),
        frozenset({"h2", "h3", "h4", "h5"}),
    }
    done = replan(plan, before, found.cluster, found.moved)
    assert done.plan is not None
    assert done.plan.kind == "2lha"
    assert done.plan.ranks == plan.ranks
    layout = layout_of(done.plan.forest, done.plan.host_by_rank, done.plan.group_by_rank)
    assert sorted(layout.sizes.tolist()) == [2, 4]
    assert "h2 moved" in done.reason


@pytest.mark.parametrize("factor", [1.0, 1.6])
def test_a_network_that_is_the_same_makes_none(factor: float) -> None:
    before = cluster_in(RACKS)
    found = again(before, [0, 4], RACKS, factor)
    done = replan(planned(before), before, found.cluster, found.moved)
    assert (found.moved, done.plan, done.reason) == ([], None, "nothing changed")


def test_a_host_that_leaves_all_racks_is_a_group_by_itself() -> None:
    before = cluster_in(RACKS)
    found = again(before, [2], (0, 0, 2, 1, 1, 1), 1.0)
    done = replan(planned(before), before, found.cluster, found.moved)
    assert done.plan is not None
    layout = layout_of(done.plan.forest, done.plan.host_by_rank, done.plan.group_by_rank)
    assert sorted(layout.sizes.tolist()) == [1, 2, 3]


def test_passes_go_with_their_readings() -> None:
    before = rtt_of(readings_us(RACKS))
    pairs = merging.pairs_of([1], len(RACKS))
    new_us = readings_us(RACKS, 1.5, seed=2)
    after = replace(
        merging.without_rtt(before, pairs),
        rtt_us={10.0: new_us, 50.0: new_us, 99.0: new_us},
        passes=np.full(new_us.shape, 2),
        halves_us=(new_us, 1.1 * new_us),
    )
    known = merging.controls(before, [1])
    merged, _ = merging.merge_rtt(before, after, merging.with_pairs(pairs, known), known)
    assert merged.readings_us[1, 0] < new_us[1, 0]
    assert merged.passes is not None
    assert merged.halves_us is not None
    assert set(merged.passes[1, np.arange(len(RACKS)) != 1]) == {2}
    assert 1 in merged.passes
    np.testing.assert_allclose(np.fmin(*merged.halves_us), merged.readings_us)
    # Measured again, those of other hosts would have to be met no more.
    assert merging.without_rtt(merged, pairs).passes is None


def test_where_measuring_failed_the_old_readings_stay() -> None:
    before = rtt_of(readings_us(RACKS))
    pairs = merging.pairs_of([1], len(RACKS))
    after = merging.without_rtt(before, pairs)
    assert np.isnan(after.readings_us[1]).all()
    new = after.readings_us.copy()
    new[1, 0] = 17.0
    measured = replace(after, rtt_us={**after.rtt_us, 10.0: new})
    merged, _ = merging.merge_rtt(before, measured, pairs, [])
    expected = before.readings_us.copy()
    expected[1, 0] = 17.0
    assert np.array_equal(merged.readings_us, expected, equal_nan=True)
    assert merged.disturbance is not None
    assert np.isnan(merged.disturbance[1, 0])
    assert merged.disturbance[0, 1] == 0.5


@given(st.integers(2, 40), st.data())
def test_controls_are_pairs_of_other_hosts(size: int, data: st.DataObject) -> None:
    hosts = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    found = merging.controls(rtt_of(readings_us([0] * size)), hosts)
    assert hosts.isdisjoint(host for pair in found for host in pair)
    assert len(found) <= 2 * merging.MOST_CONTROLS
    assert bool(found) == (size - len(hosts) > 1)


@given(st.integers(2, 12), st.data())
def test_new_transfers_replace_what_was_known_of_a_link(size: int, data: st.DataObject) -> None:
    hosts = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    pairs = merging.transfers_of(hosts, size)
    assert (pairs == pairs.T).all()
    assert not pairs.diagonal().any()
    assert pairs[sorted(hosts)].any(axis=1).all()
    old = np.full((size, size), 10.0)
    np.fill_diagonal(old, np.nan)
    before = BandwidthMeasurement(tool="iperf3", gbit_s=old, retransmits=old)
    blank = merging.without_bandwidth(before, pairs)
    measured = replace(blank, gbit_s=np.where(pairs, 4.0, blank.gbit_s))
    merged = merging.merged_bandwidth(before, measured, hosts, pairs).gbit_s
    assert np.nanmax(merged[sorted(hosts)]) == np.nanmax(merged[:, sorted(hosts)]) == 4.0
    others = sorted(set(range(size)) - hosts)
    assert np.array_equal(merged[np.ix_(others, others)], old[np.ix_(others, others)], True)
    # A host of which a reading is missing keeps the old ones.
    host = min(hosts)
    gap = measured.gbit_s.copy()
    gap[host, int(np.flatnonzero(pairs[host])[0])] = np.nan
    partly = merging.merged_bandwidth(before, replace(measured, gbit_s=gap), hosts, pairs)
    assert np.nanmax(partly.gbit_s[host]) == 10.0
    # Where nothing could be measured, all is as it was.
    kept = merging.merged_bandwidth(before, blank, hosts, pairs)
    assert np.array_equal(kept.gbit_s, old, equal_nan=True)


def with_rates(cluster: Cluster, host_gbit_s: float, uplink_gbit_s: float) -> Cluster:
    """The first host's link and the first group's uplink carry that."""
    gbit_s = np.full((6, 6), 10.0)
    gbit_s[0, :] = gbit_s[:, 0] = host_gbit_s
    uplinks = [
        Uplink(group.name, rate, rate, 30.0)
        for group, rate in zip(cluster.groups, (uplink_gbit_s, 20.0), strict=True)
    ]
    return replace(
        cluster,
        bandwidth=BandwidthMeasurement(tool="iperf3", gbit_s=gbit_s, retransmits=gbit_s),
        uplinks=UplinkMeasurement(tool="uplinks", uplinks=uplinks),
    )


def test_links_that_carry_materially_more_or_less_make_a_new_plan() -> None:
    before = with_rates(cluster_in(RACKS), 10.0, 20.0)
    plan = planned(before)
    nearly = with_rates(before, 9.0, 18.0)
    assert replan(plan, before, nearly, ()).reason == "nothing changed"
    after = with_rates(before, 4.0, 20.0)
    assert other_rates(before, after) == ["h0"]
    done = replan(plan, before, after, ())
    assert done.plan is not None
    assert identity(0, done.plan.forest) != identity(0, plan.forest)
    assert other_rates(before, with_rates(before, 10.0, 4.0)) == [before.groups[0].name]


def test_links_that_become_known_are_compared_with_from_then_on() -> None:
    known = with_rates(cluster_in(RACKS), 10.0, 20.0)
    plan = planned(known)
    assert replan(plan, known, known, ()) == Replanned(None, "nothing changed")
    unknown = replace(known, uplinks=None)
    assert replan(plan, unknown, known, ()) == Replanned(None, "nothing changed", True)


def test_uplinks_that_were_not_all_measured_stay_as_they_were() -> None:
    before = with_rates(cluster_in(RACKS), 10.0, 20.0)
    assert before.uplinks is not None
    first, second = before.uplinks.uplinks
    partly = [
        replace(first, send_gbit_s=5.0, receive_gbit_s=5.0),
        replace(second, send_gbit_s=None),
    ]
    after = replace(before, uplinks=replace(before.uplinks, uplinks=partly))
    merged = merging.merged_uplinks(before, after).uplinks
    assert merged is not None
    assert merged.uplinks == [partly[0], second]
    lost = replace(after, uplinks=replace(before.uplinks, uplinks=[]))
    assert merging.merged_uplinks(before, lost).uplinks == before.uplinks


def plan_on(hosts: list[str]) -> Plan:
    star = [[-1] + [0] * (len(hosts) - 1)]
    ranks = [PlanRank(host, f"10.0.0.{place}") for place, host in enumerate(hosts)]
    return Plan("flat", ranks, make_forest([1.0], star, star), 1000)


def test_a_job_on_a_part_of_the_cluster_gets_a_plan_for_its_ranks() -> None:
    whole = cluster_in(RACKS)
    names = ["h5", "h2", "h0", "h3"]
    part = cluster_of(plan_on(names), whole)
    assert part.names == names
    assert partition(part.groups) == {frozenset({"h0", "h2"}), frozenset({"h3", "h5"})}
    assert part.rtt is not None
    with pytest.raises(PlinkError, match="h9, a host of the plan"):
        cluster_of(plan_on(["h9"]), whole)


def test_hosts_are_left_alone_for_longer_each_time_in_vain() -> None:
    back_off, now_s = BackOff(), 0.0
    pauses = []
    for _ in range(8):
        assert back_off.due(now_s, ["a", "b"]) == ["a", "b"]
        pauses.append(back_off.record_failure(now_s, ["a"]))
        assert back_off.due(now_s + pauses[-1] - 1.0, ["a", "b"]) == ["b"]
        assert back_off.wait_s(now_s + pauses[-1] - 1.0, ["a"]) == 1.0
        now_s += pauses[-1]
    assert pauses[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert pauses[-1] == LONGEST_PAUSE_S
    back_off.record_success(now_s, ["a"])
    assert back_off.due(now_s, ["a"]) == []
    assert back_off.due(now_s + FIRST_PAUSE_S, ["a"]) == ["a"]
    assert back_off.record_failure(now_s + FIRST_PAUSE_S, ["a"]) == FIRST_PAUSE_S
