"""Limits and bytes per link."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.clusters import rack_cluster
from plans.strategies import forests
from plink.bench.clients.client import Traffic
from plink.bench.rows import limit_of, links_of
from plink.formats.hosts import Group
from plink.model.network import build_network
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.optimize.plans.traffic import Traffic as OfPlan
from plink.plans.forest import Forest
from plink.plans.measures import measure

FRAME_BYTES = 8


def test_the_limit_is_that_of_hosts_or_of_uplinks_whichever_is_greater() -> None:
    demand, hosts = Demand("all-reduce", 20_000_000), range(16)
    even = limit_of(build_network(rack_cluster([4, 4, 4, 4])).network, demand, hosts)
    assert even is not None
    # 2 S (1 - 1/16) over 400 Mbit/s.
    assert (even.by, even.time_s) == ("hosts", pytest.approx(0.75))
    network = build_network(rack_cluster([4, 4, 4, 4], uplink_gbit_s=0.2)).network
    narrow = limit_of(network, demand, hosts)
    assert narrow is not None
    # 2 S (1 - 1/4) over 200 Mbit/s.
    assert (narrow.by, narrow.time_s) == ("uplinks", pytest.approx(1.2))
    unknown = build_network(rack_cluster([2, 2], uplink_gbit_s=None)).network
    assert limit_of(unknown, demand, range(4)) is None
    # Nothing that a link carries limits a barrier.
    assert limit_of(network, Demand("barrier", 20_000_000), hosts) is None


def planned(forest: Forest, size_bytes: int) -> OfPlan:
    return build_traffic(Demand("all-reduce", size_bytes), forest)


def counted(forest: Forest, size_bytes: int, repetitions: int, frames: int) -> Traffic:
    """What ranks count that follow a plan to the byte, with so many frames to each other."""
    payload = np.rint(traffic_bytes(planned(forest, size_bytes)))
    sent = (repetitions * (payload + frames * FRAME_BYTES * (payload > 0.0))).astype(int)
    return Traffic(sent.tolist(), sent.T.tolist())


def test_bytes_are_summed_up_for_hosts_and_groups_with_two_ranks_a_host() -> None:
    cluster = rack_cluster([2, 2])
    plan = find_plan(cluster, PlanRequest(kind="2lha", size=8_000_000, ranks_per_host=2)).plan
    launches = [counted(plan.forest, 8_000_000, 5, 3)] * 2
    links = links_of(
        launches,
        5,
        planned(plan.forest, 8_000_000),
        names=cluster.names,
        host_of=plan.host_by_rank,
        groups=cluster.groups,
    )
    whole = measure(plan.forest, 8_000_000, group_of=plan.group_by_rank, host_of=plan.host_by_rank)
    assert [link.name for link in links.hosts] == cluster.names
    assert sum(link.plan_sent_bytes for link in links.hosts) == pytest.approx(whole.wire_bytes)
    assert sum(link.plan_sent_bytes for link in links.groups) == pytest.approx(
        whole.cross_group_bytes
    )
    for link in (*links.hosts, *links.groups):
        # Only frames come on top of the plan; they were counted at both ends.
        assert link.plan_sent_bytes < link.sent_bytes < link.plan_sent_bytes + 1000
        assert link.plan_received_bytes < link.received_bytes < link.plan_received_bytes + 1000


def test_what_comes_and_goes_is_told_apart() -> None:
    parents = np.array([[-1, 0]], dtype=np.int32)
    sent = [[0, 100], [30, 0]]
    links = links_of(
        [Traffic(sent, np.transpose(sent).tolist())],
        10,
        planned(Forest(np.ones(1), parents, parents), 4),
        names=["a", "b", "without a rank"],
        host_of=[1, 0],
        groups=[Group("g", ["b"])],
    )
    assert [(link.name, link.sent_bytes, link.received_bytes) for link in links.hosts] == [
        ("a", 3.0, 10.0),
        ("b", 10.0, 3.0),
    ]
    assert [(link.name, link.sent_bytes, link.plan_sent_bytes) for link in links.groups] == [
        ("g", 10.0, 4.0)
    ]


@given(forests(), st.integers(1, 10**9))
def test_every_rank_but_the_roots_sends_and_receives_all_of_a_buffer(
    forest: Forest, size_bytes: int
) -> None:
    found = traffic_bytes(planned(forest, size_bytes))
    assert found.sum() == pytest.approx(2 * (forest.ranks - 1) * size_bytes)
