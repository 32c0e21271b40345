"""From a cluster to a plan."""

from __future__ import annotations

import numpy as np
import pytest

from planning.clusters import rack_cluster
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import Grouping, Partition
from plink.formats.hosts import Group, Host
from plink.model.network import build_network
from plink.optimize.plans.candidates import KINDS, build_candidate
from plink.optimize.plans.planning import Planned, find_plan, regroup_network
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.traffic import Demand
from plink.plans.check import check
from plink.plans.forest import make_forest
from plink.plans.measures import measure
from plink.plans.names import ALL_REDUCE
from plink.solvers.forests.kinds import double_tree

S = 20_000_000


def plan(cluster: Cluster, kind: str = "auto", **options) -> Planned:
    found = find_plan(cluster, PlanRequest(kind=kind, **{"size": S, **options}))
    for each in found.candidates:
        check(each.forest)
    return found


def times(found: Planned) -> dict[str, float]:
    return {predicted.kind: predicted.time_s for predicted in found.plan.predicted}


@pytest.mark.parametrize(
    ("sizes", "uplink_gbit_s", "ring_ms", "two_level_ms", "bound_ms"),
    [
        ([4, 4, 4, 4], 0.4, 750.0, 750.0, 750.0),
        ([4, 4, 4, 4], 0.2, 1500.0, 1200.0, 1200.0),
        ([8, 8, 8, 8], 0.2, 1550.0, 1200.0, 1200.0),
        # Unequal racks have unequal flows, which do not end at the same time.
        ([4, 4, 2, 1], 0.4, 727.3, 790.9, 727.3),
        ([4, 4, 2, 1], 0.2, 1454.5, 1300.0, 1200.0),
    ],
)
def test_racks_are_predicted_to_take_what_their_links_allow(
    sizes, uplink_gbit_s, ring_ms, two_level_ms, bound_ms
):
    found = plan(rack_cluster(sizes, uplink_gbit_s=uplink_gbit_s))
    assert found.plan.kind == ("2lha" if two_level_ms <= ring_ms else "ring")
    assert times(found)["ring"] * 1e3 == pytest.approx(ring_ms, rel=2e-3)
    assert times(found)["2lha"] * 1e3 == pytest.approx(two_level_ms, rel=2e-3)
    assert found.plan.bound_s == pytest.approx(bound_ms / 1e3, rel=1e-3)
    assert min(times(found).values()) >= found.plan.bound_s
    assert found.plan.assumptions == []


def test_small_buffers_are_quickest_where_few_messages_wait_for_each_other():
    found = plan(rack_cluster([4, 4, 4, 4]), size=4096)
    assert 1.5 * times(found)["2lha"] < times(found)["flat"]
    assert found.chosen.time_s == min(times(found).values())


def test_groups_are_found_where_the_file_has_none():
    found = plan(rack_cluster([4, 4, 4, 4], has_groups=False), "2lha")
    racks = rack_cluster([4, 4, 4, 4]).groups
    assert {frozenset(group.hosts) for group in found.plan.groups} == {
        frozenset(rack.hosts) for rack in racks
    }
    assert found.chosen.measures.cross_group_bytes == pytest.approx(2 * 3 * S)
    assert found.plan.assumptions == [
        "no host's link was measured: assuming 10.0 Gbit/s each",
        "uplinks not measured, assumed to be unlimited: g1, g2, g3 and 1 other",
    ]


def test_without_groups_there_is_no_hierarchy():
    alike = rack_cluster([6], has_groups=False)
    found = plan(alike)
    assert [each.kind for each in found.candidates] == ["flat", "ring", "tree"]
    assert [(refused.kind, refused.reason) for refused in found.refused] == [
        ("2lha", "no groups of near hosts are known")
    ]
    assert found.plan.kind == "flat"
    with pytest.raises(WrongUseError, match="no plan of kind 2lha: no groups") as caught:
        plan(alike, "2lha")
    assert "linkage makes balanced ones" in (caught.value.hint or "")


def test_one_group_of_all_hosts_is_no_hierarchy_either():
    with pytest.raises(WrongUseError, match="all hosts are in one group"):
        plan(rack_cluster([6]), "2lha")


def test_hosts_without_any_measurement_still_get_a_plan():
    bare = Cluster([Host("a", "10.0.0.1"), Host("b", "10.0.0.2"), Host("c", "10.0.0.3")])
    found = plan(bare)
    assert found.plan.kind == "flat"
    assert "no round-trip times are known" in found.plan.assumptions[0]


@pytest.mark.parametrize("kind", KINDS)
def test_several_ranks_on_a_host_put_no_more_on_the_wire(kind):
    single = plan(rack_cluster([3, 2]), kind)
    several = plan(rack_cluster([3, 2], slots=4), kind)
    given = plan(rack_cluster([3, 2]), kind, ranks_per_host=4)
    assert len(several.plan.ranks) == len(given.plan.ranks) == 20
    assert several.plan.host_by_rank == np.repeat(range(5), 4).tolist()
    assert [rank.host for rank in several.plan.ranks][3:5] == ["n00", "n01"]
    for found in (several, given):
        assert found.chosen.measures.wire_bytes == pytest.approx(single.chosen.measures.wire_bytes)
        assert found.chosen.measures.rounds == single.chosen.measures.rounds + 2


@pytest.mark.parametrize("ranks", [1, 3])
def test_one_host_has_every_plan_but_a_hierarchy(ranks):
    one = Cluster([Host("a", "10.0.0.1", slots=ranks)])
    found = plan(one)
    assert {each.kind for each in found.candidates} == {"flat", "ring", "tree"}
    assert found.chosen.measures.wire_bytes == 0.0
    assert found.plan.bound_s == 0.0


def test_two_hosts():
    assert plan(Cluster([Host("a", "10.0.0.1"), Host("b", "10.0.0.2")])).plan.forest.ranks == 2


def test_too_many_ranks_are_refused():
    with pytest.raises(WrongUseError, match="5500 ranks are too many"):
        plan(rack_cluster([4, 4, 3]), ranks_per_host=500)


def test_the_same_seed_gives_the_same_plan():
    first, second = (plan(rack_cluster([5, 4, 3]), "ring", seed=7) for _ in range(2))
    assert (first.plan.forest.reduce_parents == second.plan.forest.reduce_parents).all()
    assert first.plan.seed == 7


def test_a_ring_leaves_each_group_once():
    found = plan(rack_cluster([4, 4, 4, 4], seed=3), "ring")
    crossing = measure(found.plan.forest, 1.0, group_of=found.plan.group_by_rank).cross_group_bytes
    assert crossing == pytest.approx(2 * 4 * (1 - 1 / 16))


def test_a_ring_leaves_each_group_once_whatever_the_latencies():
    cluster = rack_cluster([4, 3, 2], seed=3)
    assert cluster.rtt is not None
    rtt_us = np.random.default_rng(1).uniform(10.0, 100.0, (9, 9))
    np.fill_diagonal(rtt_us, np.nan)
    found = plan(replace(cluster, rtt=replace(cluster.rtt, rtt_us={10.0: rtt_us})), "ring")
    crossing = measure(found.plan.forest, 1.0, group_of=found.plan.group_by_rank).cross_group_bytes
    assert crossing == pytest.approx(2 * 3 * (1 - 1 / 9))


def test_a_tree_begins_where_a_group_does():
    found = plan(rack_cluster([4, 4, 4, 4], seed=3), "tree")
    crossing = measure(found.plan.forest, 1.0, group_of=found.plan.group_by_rank).cross_group_bytes
    # NCCL's two trees over four groups of four in a row.
    in_a_row = double_tree(range(16))
    least = measure(
        make_forest(*in_a_row),
        1.0,
        group_of=[rank // 4 for rank in range(16)],
    )
    assert crossing == pytest.approx(least.cross_group_bytes)


def test_measures_count_hosts_without_a_group_as_groups():
    cluster = rack_cluster([3, 2])
    fewer = replace(cluster, groups=cluster.groups[:1], uplinks=None)
    found = plan(fewer, "2lha")
    assert len(set(found.plan.group_by_rank)) == 3
    assert found.chosen.measures.cross_group_bytes == pytest.approx(2 * 2 * S)


def in_rows(uplink_gbit_s):
    """Eight racks of two hosts in two rows, each rack's uplink known, as `plink group` left it."""
    known = rack_cluster([2] * 8, uplink_gbit_s=uplink_gbit_s)
    racks = [list(group.hosts) for group in known.groups]
    rows = [[host for rack in racks[begin : begin + 4] for host in rack] for begin in (0, 4)]
    return replace(
        known, grouping=Grouping("levels", "raw", levels=[Partition(rows), Partition(racks)])
    )


@pytest.mark.parametrize("uplink_gbit_s", [0.1, 0.4, 100.0])
@pytest.mark.parametrize("size_bytes", [1 << 10, S])
def test_the_level_of_groups_is_the_one_that_is_predicted_to_be_quickest(uplink_gbit_s, size_bytes):
    cluster = in_rows(uplink_gbit_s)
    network = build_network(cluster).network
    order, hosts = list(range(16)), np.arange(16)
    times = {}
    for level in cluster.grouping.levels:
        named = [Group(f"g{number}", members) for number, members in enumerate(level)]
        seen_as = regroup_network(network, cluster.names, named)
        demands = [Demand(ALL_REDUCE, size_bytes)]
        tried = build_candidate("2lha", network, order, hosts, demands, seen_as=seen_as)
        times[len(level)] = tried.time_s
    found = plan(cluster, "2lha", size=size_bytes)
    assert times[len(found.plan.groups)] <= 1.03 * min(times.values())
    if uplink_gbit_s == 0.1 and size_bytes == S:
        assert times[2] > 1.5 * times[8]
        assert len(found.plan.groups) == 8


def test_a_plan_names_the_file_that_its_cluster_was_read_from():
    read = replace(rack_cluster([2, 2]), file_hash="sha256:0")
    assert find_plan(read, PlanRequest()).plan.made_from == "sha256:0"
    assert find_plan(replace(read, file_hash=None), PlanRequest()).plan.made_from is None
