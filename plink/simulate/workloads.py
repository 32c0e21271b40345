"""Workloads to simulate: algorithms of plink or SMPI, collectives along a plan, or a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.plan import Plan
from plink.optimize.orders.slots import build_peer_layout, refuse_too_many
from plink.optimize.plans.candidates import KINDS
from plink.optimize.plans.forecasting import forecast_plan, locate_ranks
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import Kind, PlanRequest
from plink.optimize.plans.serving import HUB, PS
from plink.optimize.plans.traffic import Demand, build_traffic
from plink.optimize.prediction import RefusedAlgorithm
from plink.plans.names import ALL_REDUCE
from plink.simulate.making import schedule_of_flows, schedule_of_table, schedule_of_traffic
from plink.simulate.negotiating import check_mode, negotiating
from plink.simulate.pace import Pace, pace_of
from plink.simulate.request import SimulationRequest
from plink.simulate.schedule import Schedule
from plink.simulate.simgrid.platforms import Platform
from plink.simulate.simgrid.run import ALL_REDUCES, EAGER_BYTES
from plink.simulate.through_servers import through_servers
from plink.simulate.trace_algorithm import trace_algorithm
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.registry import find
from plink.solvers.forests.servers import BETWEEN
from plink.solvers.slots.layout import RankLayout

PLANS = ("auto", *KINDS)
PLANS_WITH_SERVERS = (
    *PLANS,
    "cc",
    "ncc",
    "ncs",
    PS,
    HUB,
    *(f"{HUB}-{between}" for between in BETWEEN),
)

SMPI = "smpi"
PLAN = "plan"
CONTROL = "control"
TRACE = "trace"

# What plink's order is searched for where SMPI runs one of these; selectors choose by themselves.
_LIKE = {
    "lr": "openmpi-ring",
    "ompi_ring_segmented": "openmpi-ring",
    "smp_rsag_lr": "openmpi-ring",
    "rdb": "openmpi-recursive-doubling",
    "redbcast": "mpich-tree-knomial",
}
_LIKE_OTHERS = "openmpi-rabenseifner"

# MPI counts items in an int.
_MOST_SMPI_BYTES = 4 * ((1 << 31) - 1)

# Whose ranks meet for large messages; the others' leave as they come (sockets with room).
_MEET = ("openmpi-", "mpich-")


@dataclass(frozen=True)
class Workload:
    """Workload to run: a schedule of plink's, or an SMPI collective.

    Args:
        algorithm: that predicts it, and that orders are searched for; None where there is none.
        predicted_s: along a plan, whose ranks' hosts then are `hosts`.
        platform: whose hosts these are, where ports of servers are among them; else None.
        pace: how the schedule goes on, where it is of some rounds.
        is_flows: it is a flow for each pair of ranks, in place of a plan's chunks.
    """

    name: str
    schedule: Schedule | None = None
    smpi: tuple[str, str] | None = None
    algorithm: Algorithm | None = None
    eager_bytes: float = float("inf")
    hosts: Sequence[int] | None = None
    predicted_s: float | None = None
    platform: Platform | None = None
    pace: Pace | None = None
    is_flows: bool = False


def along_plan(
    cluster: Cluster,
    plan: Plan,
    collectives: Sequence[str],
    request: SimulationRequest,
    *,
    source: str,
    platform: Platform,
) -> list[Workload]:
    """Return the collectives along a plan, on the platform of the cluster's hosts."""
    if plan.has_servers:
        if tuple(collectives) != (ALL_REDUCE,):
            raise WrongUseError(f"{source}: servers aggregate what an all-reduce does, and no more")
        made = through_servers(
            cluster, plan, request.size_bytes, platform, request.server_names, source=source
        )
        return [
            Workload(
                plan.kind,
                made.schedule,
                hosts=made.hosts,
                predicted_s=made.predicted_s,
                platform=made.platform,
            )
        ]
    if request.servers:
        raise WrongUseError(f"{source}: this plan has no servers")
    found = forecast_plan(cluster, plan, request.size_bytes, collectives, source)
    made_of = schedule_of_flows if request.as_flows else schedule_of_traffic
    hosts = locate_ranks(plan, cluster, source)
    return [
        Workload(
            f"{plan.kind}: {row.collective}",
            made_of(
                build_traffic(Demand(row.collective, request.size_bytes), plan.forest), len(hosts)
            ),
            hosts=hosts,
            predicted_s=row.time_s,
            is_flows=request.as_flows,
        )
        for row in found.rows
    ]


def list_workloads(
    cluster: Cluster, request: SimulationRequest, layout: RankLayout, platform: Platform
) -> tuple[list[Workload], list[RefusedAlgorithm]]:
    """Return the workloads to run, and those left out with the reason.

    Raises:
        WrongUseError: nothing has such a name, or nothing is run.
    """
    for name in request.algorithm_names:
        _check_name(name, request)
    workloads: list[Workload] = []
    refusals: list[tuple[str, WrongUseError]] = []
    for name in request.algorithm_names:
        family, colon, own = name.partition(":")
        try:
            if not colon:
                workloads.append(_build_workload(find(name), request, layout))
            elif family == SMPI:
                workloads.append(_smpi(name, own, request.size_bytes))
            elif family == CONTROL:
                workloads.append(_negotiating(cluster, name, own, layout, platform))
            else:
                workloads += _plan_workloads(cluster, name, own, request, platform)
        except WrongUseError as error:
            refusals.append((name, error))
    if not workloads:
        raise refusals[0][1]
    return workloads, [RefusedAlgorithm(name, str(error)) for name, error in refusals]


def _check_name(name: str, request: SimulationRequest) -> None:
    """Raise for an unknown workload, and for one that cannot use the named servers."""
    family, colon, own = name.partition(":")
    if request.servers and not (colon and family == PLAN):
        raise WrongUseError(
            f"{name} is of hosts that all take part, and servers were named",
            "with servers, plans are simulated: plan:ps, plan:hub, plan:2lha",
        )
    if colon and family == SMPI:
        if own not in ALL_REDUCES:
            raise WrongUseError(
                f"SMPI has no all-reduce called {own!r}", f"it has {', '.join(ALL_REDUCES)}"
            )
    elif colon and family == CONTROL:
        check_mode(own)
    elif colon and family == PLAN:
        kinds = PLANS_WITH_SERVERS if request.servers else PLANS
        if own not in kinds:
            is_of_servers = not request.servers and own in PLANS_WITH_SERVERS
            raise WrongUseError(
                f"there is no plan of kind {own!r}{' without servers' * is_of_servers}",
                f"there are {', '.join(kinds)}",
            )
    else:
        try:
            find(name)
        except ValueError as error:
            raise WrongUseError(
                str(error), "plink order --list-algorithms names them, and smpi:NAME is SMPI's"
            ) from None


def _build_workload(
    algorithm: Algorithm, request: SimulationRequest, layout: RankLayout
) -> Workload:
    """Return the workload of one of plink's algorithms.

    Raises:
        WrongUseError: it does not run with so many ranks, or has too many messages.
    """
    ranks = build_peer_layout(algorithm, layout).ranks
    reason = algorithm.refusal(ranks)
    if reason is not None:
        raise WrongUseError(reason)
    refuse_too_many(algorithm, ranks, by_table=True)
    eager = EAGER_BYTES if algorithm.name.startswith(_MEET) else float("inf")
    table = algorithm.table(ranks, request.size_bytes)
    some = pace_of(table, request.rounds) if request.rounds else None
    schedule, pace = some or (schedule_of_table(table), None)
    return Workload(algorithm.name, schedule, algorithm=algorithm, eager_bytes=eager, pace=pace)


def _negotiating(
    cluster: Cluster, name: str, mode: str, layout: RankLayout, platform: Platform
) -> Workload:
    """Return the workload of one negotiation of ranks in the sequence of the hosts."""
    found = negotiating(mode, layout.ranks, cluster, platform)
    hosts = layout.placement(range(layout.hosts)).tolist()
    return Workload(name, found.schedule, hosts=hosts, predicted_s=found.time_s)


def _plan_workloads(
    cluster: Cluster, name: str, kind: str, request: SimulationRequest, platform: Platform
) -> list[Workload]:
    """Return the all-reduce along plink's plan of a kind."""
    plan_request = PlanRequest(
        kind=cast(Kind, kind),
        size=request.size_bytes,
        seed=request.seed,
        servers=request.servers,
    )
    plan = find_plan(cluster, plan_request).plan
    # A plan between the workers has no server whose ports are told.
    own = request if plan.has_servers else replace(request, servers=())
    found = along_plan(cluster, plan, (ALL_REDUCE,), own, source=name, platform=platform)
    return [replace(each, name=name) for each in found]


def _smpi(name: str, own: str, size_bytes: int) -> Workload:
    if size_bytes > _MOST_SMPI_BYTES:
        raise WrongUseError(f"SMPI counts at most {_MOST_SMPI_BYTES:,} bytes of float32")
    like = find(_LIKE.get(own, _LIKE_OTHERS))
    # What a selector chooses is not known here, and so not predicted.
    is_known = own in _LIKE or own == "rab"
    return Workload(name, None, ("all-reduce", own), like if is_known else None, EAGER_BYTES)


def algorithm_like(name: str) -> str:
    """The algorithm of plink's that an order is searched for: the same, or like `smpi:NAME`."""
    family, colon, own = name.partition(":")
    return _LIKE.get(own, _LIKE_OTHERS) if colon and family == SMPI else name


def build_trace_workload(trace: Schedule) -> Workload:
    """Return a trace, whose ranks meet for large messages."""
    return Workload(TRACE, trace, algorithm=trace_algorithm(trace), eager_bytes=EAGER_BYTES)
