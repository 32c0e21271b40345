"""Predicted time of each collective along a plan on a cluster, with a lower bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from plink.files.cluster import Cluster
from plink.files.limits import Amount, Collective, Positive, Text, Whole, Word
from plink.files.plan import Plan, refuse_servers
from plink.files.structs import Output
from plink.model.network import USUAL_LINK_GBIT_S, build_network
from plink.optimize.expected import Expected, ExpectedTimes
from plink.optimize.plans.demand import Demand, compute_least_exchange
from plink.optimize.plans.expecting import predict_plan_time
from plink.optimize.plans.on_cluster import grouped_as, hosts_of
from plink.optimize.plans.servers import members_network
from plink.optimize.plans.traffic import build_traffic, measure_traffic, traffic_time_s
from plink.plans.names import ALL_REDUCE, COLLECTIVES
from plink.solvers.forests.lower_bound import lower_bound_s


class CollectiveRow(Output, frozen=True):
    """Predicted figures of one collective along the plan.

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
    """Predicted times of collectives along a plan.

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
    hosts = hosts_of(plan, cluster, source)
    grouped = grouped_as(plan, cluster)
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
        measures = measure_traffic(traffic, plan.group_of, hosts)
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
