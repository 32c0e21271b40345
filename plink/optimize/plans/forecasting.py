"""Predicted time of each collective along a plan on a cluster, with a lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.limits import Amount, Collective, Positive, Text, Whole, Word
from plink.formats.plan import Plan, refuse_servers
from plink.formats.structs import Output
from plink.model.network import USUAL_LINK_GBIT_S, build_network
from plink.optimize.expected import Expected, ExpectedTimes
from plink.optimize.plans.servers import members_network
from plink.optimize.plans.traffic import (
    Demand,
    Traffic,
    build_routes_timer,
    build_traffic,
    compute_least_exchange,
    measure_traffic,
    traffic_time_s,
)
from plink.plans.names import ALL_REDUCE, COLLECTIVES
from plink.solvers.contention.flows import shared_links
from plink.solvers.contention.network import scale_rates
from plink.solvers.forests.lower_bound import lower_bound_s
from plink.solvers.forests.time import RoutesTimer


def locate_ranks(plan: Plan, cluster: Cluster, source: str) -> list[int]:
    """Return each rank's host as an index into the cluster; `source` names the plan in errors.

    Raises:
        WrongUseError: the plan is of other hosts.
    """
    place_of = {name: place for place, name in enumerate(cluster.names)}
    for rank in plan.ranks:
        if rank.host not in place_of:
            raise WrongUseError(
                f"{source}: {rank.host} is not a host of {cluster.source}",
                "name the cluster file that the plan was made from",
            )
    return [place_of[rank.host] for rank in plan.ranks]


def regroup_cluster(plan: Plan, cluster: Cluster) -> Cluster:
    """Return the cluster with a plan's groups; itself if it has the same, or lacks their hosts.

    Groups that differ by hosts without a rank alone are the same: the cluster's uplinks were
    measured with all hosts of its own. A plan without groups leaves the cluster as it is, too.
    """
    ranked = {rank.host for rank in plan.ranks}
    own = {frozenset(group.hosts) & ranked for group in cluster.groups} - {frozenset[str]()}
    of_plan = {frozenset(group.hosts) for group in plan.groups}
    if not of_plan or own == of_plan or not set().union(*of_plan) <= set(cluster.names):
        return cluster
    return replace(cluster, groups=tuple(plan.groups))


def predict_plan_time(
    times: ExpectedTimes, traffic: Traffic, size_bytes: int, hosts: Sequence[int]
) -> Expected:
    """Predict the seconds of one collective call along a plan, rank r on host `hosts[r]`."""
    timer = build_routes_timer(traffic, hosts, times.network)
    free_s, whole_s = predict_plan_s(times, timer, hosts)
    return times.estimate([whole_s], free_s, size_bytes, hosts, rounds=timer.messages)


def predict_plan_s(
    times: ExpectedTimes, timer: RoutesTimer, hosts: Sequence[int]
) -> tuple[float, float]:
    """Return the seconds of a call along a plan, without and with the software's overhead."""
    share = times.fit.flow_share.value
    # What buckets save, and what rows' links cost.
    plain = shared_links(times.network, flow_share=share)
    saved_s = plain.carried_s(timer.loads, hosts) - times.links.carried_s(timer.loads, hosts)
    free_s = timer.time_s(scale_rates(times.network, share)) - saved_s
    return free_s, free_s + times.fit.overhead_us.value * 1e-6 * timer.messages


class CollectiveRow(Output, frozen=True):
    """Predicted time, bound and traffic of one collective along a plan.

    Attributes:
        collective: name of the collective
        time_s: predicted time, in s
        bound_s: no way of doing it takes less, latency left out, in s
        rounds: messages that the longest way takes
        wire_bytes: bytes that hosts send to each other
        cross_group_bytes: bytes that go from one group to another
        expected: time of the engine on these hosts, if it was fitted
    """

    OPTIONAL: ClassVar = ("expected",)

    collective: Collective
    time_s: Amount
    bound_s: Amount
    rounds: Whole
    wire_bytes: Amount
    cross_group_bytes: Amount
    expected: Expected | None = None


class PlanForecast(Output, frozen=True):
    """Predicted times of collectives along a plan on a cluster.

    Attributes:
        source: what messages call the plan
        kind: kind of the plan
        hosts: number of hosts
        ranks: number of ranks
        size_bytes: size of the whole buffer of each rank, in bytes
        rows: figures, collective by collective
        assumptions: what was assumed of the network (`plink.model.network`)
    """

    source: Text
    kind: Word
    hosts: Positive
    ranks: Positive
    size_bytes: Whole
    rows: Sequence[CollectiveRow]
    assumptions: Sequence[str]


def forecast_plan(
    cluster: Cluster,
    plan: Plan,
    size_bytes: int | None = None,
    collectives: Sequence[str] = (),
    source: str = "the plan",
) -> PlanForecast:
    """Predict collectives along a plan on a cluster, possibly another one than it was made for.

    Args:
        cluster: the plan's hosts, and what was measured between them.
        plan: plan of that cluster.
        size_bytes: size of the whole buffer; None for the plan's.
        collectives: names; none for all.
        source: what messages call the plan.

    Raises:
        WrongUseError: the plan is of other hosts, or some of its ranks are servers.
    """
    refuse_servers(plan, source)
    hosts = locate_ranks(plan, cluster, source)
    grouped = regroup_cluster(plan, cluster)
    known = build_network(grouped, unknown_gbit_s=USUAL_LINK_GBIT_S)
    # Hosts without a rank take no part, in what all have to exchange either.
    used, places = np.unique(hosts, return_inverse=True)
    network = members_network(known.network, used, (), np.zeros(0))
    size = plan.size_bytes if size_bytes is None else size_bytes
    fit = next((each for each in grouped.clients if each.client == "engine"), None)
    times = None if fit is None else ExpectedTimes(grouped, fit)
    rows = []
    for name in collectives or COLLECTIVES:
        demand = Demand(name, size)
        traffic = build_traffic(demand, plan.forest)
        measures = measure_traffic(traffic, plan.group_by_rank, hosts)
        rows.append(
            CollectiveRow(
                name,
                traffic_time_s(traffic, places, network),
                lower_bound_s(network, compute_least_exchange(demand, places)),
                measures.rounds,
                measures.wire_bytes,
                measures.cross_group_bytes,
                None
                if times is None or name != ALL_REDUCE
                else predict_plan_time(times, traffic, size, hosts),
            )
        )
    return PlanForecast(source, plan.kind, len(used), len(hosts), size, rows, known.assumptions)
