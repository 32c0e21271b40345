"""Times of algorithms, plans and traces on SimGrid, in several orders of the ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plink.formats.cluster import Cluster, build_not_measured_error
from plink.formats.limits import Amount, Positive, Text, Whole
from plink.formats.order import Order
from plink.formats.plan import Plan
from plink.formats.structs import Output
from plink.model.network import KnownNetwork, build_network
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.orders.slots import (
    build_layout,
    build_layout_like,
    build_peer_layout,
    index_placement,
)
from plink.optimize.prediction import RefusedAlgorithm
from plink.plans.names import ALL_REDUCE
from plink.simulate.request import SimulationRequest
from plink.simulate.schedule import Schedule
from plink.simulate.simgrid.platforms import Platform, RowLink, Zones, platform_of
from plink.simulate.simgrid.run import Simulated, run_schedule, run_smpi
from plink.simulate.tuned import Tuned
from plink.simulate.workloads import (
    Workload,
    algorithm_like,
    along_plan,
    build_trace_workload,
    list_workloads,
)
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.contention.time import TableTimer

Placement = npt.NDArray[np.intp]
Tell = Callable[[str], None]


class Times(Output, frozen=True):
    """Times of one workload in one order (of random orders, the median).

    Attributes:
        simulated_s: time on SimGrid, in s; null if that took too long
        predicted_s: time by plink's own model, in s; null if it has none
    """

    simulated_s: Amount | None
    predicted_s: Amount | None


class Row(Output, frozen=True):
    """Times of an algorithm, a collective along a plan, or a trace.

    Attributes:
        algorithm: name of the algorithm
        given: times in the given order; null for a plan
        random: median times of random orders; null for a plan or if none was drawn
        order: times in plink's order, the order file's, or along the plan; null without one
        seconds: time that its simulations took, in s
    """

    COMPUTED: ClassVar = ("gain",)

    algorithm: Text
    given: Times | None
    random: Times | None
    order: Times | None
    seconds: Amount

    @property
    def gain(self) -> Amount | None:
        """Speedup over a random order: its time divided by this order's."""
        if self.order is None or self.random is None:
            return None
        if not self.order.simulated_s or self.random.simulated_s is None:
            return None
        return self.random.simulated_s / self.order.simulated_s


class Simulation(Output, frozen=True):
    """What was simulated.

    Attributes:
        source: what messages call the network
        hosts: number of hosts
        ranks: number of ranks
        size_bytes: size of the buffer of each rank, in bytes
        random_orders: number of random orders that were drawn
        rows: what was simulated
        refused: algorithms that are left out
        notes: what was assumed of the network
        tuned: iterations of a tuned job, if that was asked for
    """

    OPTIONAL: ClassVar = ("tuned",)

    source: Text
    hosts: Positive
    ranks: Positive
    size_bytes: Whole
    random_orders: Whole
    rows: Sequence[Row]
    refused: Sequence[RefusedAlgorithm] = ()
    notes: Sequence[str] = ()
    tuned: Tuned | None = None


def _silent(_text: str) -> None:
    """Ignore progress."""


def simulate(
    cluster: Cluster,
    request: SimulationRequest,
    *,
    platform: Platform | None = None,
    order: Order | None = None,
    plan: Plan | None = None,
    trace: Schedule | None = None,
    source: str | None = None,
    tell: Tell = _silent,
) -> Simulation:
    """Simulate algorithms, or a trace, in the given order, random ones and plink's.

    Args:
        cluster: the hosts, and what plink knows of their network.
        request: what, and how often.
        platform: the network; None for what the cluster says of it.
        order: in place of plink's.
        plan: whose collectives are run, in place of algorithms.
        trace: what ranks do, in place of algorithms.
        source: what messages call the order; None for what they call the cluster.
        tell: called with what begins.

    Raises:
        WrongUseError: no such algorithm, or none that takes so many ranks.
        PlinkError: SimGrid is not there, or it failed.
    """
    # An order may have fewer ranks than the cluster has slots.
    placed = None if order is None else index_placement(cluster, order, source or "the order")
    ranks = None if trace is None else trace.ranks
    layout = (
        build_layout(cluster.hosts, ranks) if order is None else build_layout_like(cluster, order)
    )
    known = build_network(cluster) if cluster.rtt is not None else None
    if platform is None:
        known = known or build_network(cluster)
        platform = platform_known(cluster, known)
    notes = [] if known is None else list(known.assumptions)
    refused: list[RefusedAlgorithm] = []
    if plan is not None:
        name = source or "the plan"
        collectives = request.collectives or (ALL_REDUCE,)
        workloads = along_plan(cluster, plan, collectives, request, source=name, platform=platform)
    elif trace is not None:
        workloads = [build_trace_workload(trace)]
        notes += trace.notes
    else:
        workloads, refused = list_workloads(cluster, request, layout, platform)
    notes += [
        f"{workload.name}: simulated are the first {workload.pace.rounds} of "
        f"{workload.pace.of_rounds} rounds; the others are taken to go on at the pace of their "
        "second half"
        for workload in workloads
        if workload.pace is not None
    ]
    if any(workload.is_flows for workload in workloads):
        notes.append(
            "along a plan all that a host sends to another is one flow: what links take, without "
            "chunks that wait for each other"
        )
    rng = np.random.default_rng(request.seed)
    given = layout.placement(range(layout.hosts))
    shuffled = [
        layout.placement(rng.permutation(layout.hosts)) for _ in range(request.random_orders)
    ]
    rows = []
    for workload in workloads:
        own: Sequence[int] | Placement | None = placed if workload.hosts is None else workload.hosts
        placements = {} if workload.hosts is not None else {"given": [given], "random": shuffled}
        if own is None and request.search_s > 0.0 and cluster.rtt is not None:
            tell(f"{workload.name}: searching an order")
            own = search_order(cluster, request, workload, trace)
        if own is not None:
            placements["order"] = [np.asarray(own, dtype=np.intp)]
        clock = None
        if known is not None and known.has_rates and workload.algorithm is not None:
            peers = build_peer_layout(workload.algorithm, layout).ranks
            clock = TableTimer(workload.algorithm.table(peers, request.size_bytes), known.network)
        rows.append(
            _row(
                workload, placements, workload.platform or platform, request, clock=clock, tell=tell
            )
        )
    return Simulation(
        source=source or cluster.source,
        hosts=len(set(given.tolist() if placed is None else placed)),
        ranks=layout.ranks,
        size_bytes=request.size_bytes,
        random_orders=request.random_orders,
        rows=rows,
        refused=refused,
        notes=notes,
    )


def platform_known(cluster: Cluster, known: KnownNetwork) -> Zones:
    """Return the network that a cluster file tells of.

    Raises:
        NotMeasuredError: it tells no rate of a link.
    """
    if not known.has_rates:
        raise build_not_measured_error(cluster, "rates")
    return platform_of(known.network, rows_of(cluster))


def rows_of(cluster: Cluster) -> list[RowLink]:
    """Return the links that groups share further up, where the cluster file knows any."""
    number = {group.name: place for place, group in enumerate(cluster.groups)}
    return [
        RowLink(
            [number[name] for name in row.groups],
            *map(_bytes_s, (row.send_gbit_s, row.receive_gbit_s)),
        )
        for row in (() if cluster.links is None else cluster.links.rows)
        if set(row.groups) <= set(number)
    ]


def _bytes_s(gbit_s: float | None) -> float:
    return float("inf") if gbit_s is None else gbit_s * 1e9 / 8.0


def search_order(
    cluster: Cluster, request: SimulationRequest, workload: Workload, trace: Schedule | None
) -> Placement:
    """Return the hosts of the ranks in plink's order for a workload."""
    order_request = OrderRequest(
        algorithm=algorithm_like(workload.name),
        size=request.size_bytes,
        time_limit_s=request.search_s,
        seed=request.seed,
        ranks=None if trace is None else trace.ranks,
        custom_algorithm=None if trace is None else workload.algorithm,
    )
    found = find_order(cluster, order_request)
    return np.asarray(index_placement(cluster, found, "the order"))


def _row(
    workload: Workload,
    placements: Mapping[str, Sequence[Placement]],
    platform: Platform,
    request: SimulationRequest,
    *,
    clock: TableTimer | None,
    tell: Tell,
) -> Row:
    times: dict[str, Times] = {}
    seconds = 0.0
    for name, orders in placements.items():
        if not orders:
            continue
        simulated: list[float] = []
        predicted: list[float] = [] if workload.predicted_s is None else [workload.predicted_s]
        for number, placement in enumerate(orders):
            tell(f"{workload.name}: {name} {number + 1} of {len(orders)}")
            peers = list_peers(workload.algorithm, placement)
            if clock is not None:
                predicted.append(clock.time_s(peers))
            found = _run(workload, platform, peers, request)
            if found is None:
                seconds += request.timeout_s
                break
            simulated.append(found.time_s)
            seconds += found.seconds
        times[name] = Times(
            float(np.median(simulated)) if len(simulated) == len(orders) else None,
            float(np.median(predicted)) if predicted else None,
        )
    return Row(workload.name, times.get("given"), times.get("random"), times.get("order"), seconds)


def list_peers(algorithm: Algorithm | None, placement: Placement) -> Placement:
    """Return the host of each of an algorithm's peers, which may be hosts themselves."""
    if algorithm is None or not algorithm.is_over_hosts:
        return placement
    return np.asarray(list(dict.fromkeys(placement.tolist())), dtype=np.intp)


def _run(
    workload: Workload, platform: Platform, placement: Placement, request: SimulationRequest
) -> Simulated | None:
    """Return the simulated time of a workload; None if the simulation takes too long."""
    try:
        if workload.schedule is not None:
            schedules = (
                [workload.schedule]
                if workload.pace is None
                else [workload.pace.half, workload.schedule]
            )
            found = [
                run_schedule(
                    platform,
                    schedule,
                    placement,
                    eager_bytes=workload.eager_bytes,
                    timeout_s=request.timeout_s,
                )
                for schedule in schedules
            ]
            if workload.pace is None:
                return found[0]
            return Simulated(
                workload.pace.time_s(found[0].time_s, found[1].time_s),
                sum(each.seconds for each in found),
            )
        collective, own = workload.smpi or ("all-reduce", "default")
        return run_smpi(
            platform,
            collective,
            own,
            request.size_bytes,
            placement,
            timeout_s=request.timeout_s,
        )
    except TimeoutError:
        return None
