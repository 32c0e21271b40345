"""What algorithms, plans and traces take on SimGrid, in several orders of the ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.order import Order
from plink.files.plan import Plan
from plink.model.network import network_of
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.orders.slots import layout_of, peers_of, placement_in, refuse_too_many
from plink.optimize.plans.demand import Demand
from plink.optimize.plans.forecasting import forecast_plan
from plink.optimize.plans.planning import PlanRequest, find_plan
from plink.optimize.plans.traffic import traffic_of
from plink.plans.names import ALL_REDUCE
from plink.simulate.making import schedule_of_table, schedule_of_traffic
from plink.simulate.schedule import Schedule
from plink.simulate.simgrid.platforms import Platform, platform_of
from plink.simulate.simgrid.run import (
    ALL_REDUCES,
    EAGER_BYTES,
    Simulated,
    run_schedule,
    run_smpi,
)
from plink.simulate.trace_algorithm import trace_algorithm
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.registry import find
from plink.solvers.contention.time import Clock
from plink.solvers.slots.layout import RankLayout

Placement = npt.NDArray[np.intp]
Tell = Callable[[str], None]

SMPI = "smpi"
PLAN = "plan"
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

# Whose ranks meet for large messages; the others' leave as they come (sockets with room).
_MEET = ("openmpi-", "mpich-")


@dataclass(frozen=True)
class Request:
    """What is simulated.

    Args:
        algorithms: plink's by name, `smpi:NAME` for a real all-reduce of SMPI's, or `plan:KIND` for
            the engine's along a plan.
        size_bytes: of the buffer of each rank.
        random_orders: how many, beside the given one.
        search_s: for plink's order of each algorithm; 0 for none.
        seed: decides random orders and searches.
        timeout_s: of each simulation.
    """

    algorithms: Sequence[str]
    size_bytes: int
    random_orders: int = 3
    search_s: float = 2.0
    seed: int = 0
    timeout_s: float = 600.0


@dataclass(frozen=True)
class Times:
    """What one thing takes in one order (of random ones, the median), in seconds.

    Args:
        simulated_s: on SimGrid; None where that took too long.
        predicted_s: by plink's own model; None where it has none.
    """

    simulated_s: float | None
    predicted_s: float | None


@dataclass(frozen=True)
class Row:
    """One algorithm, or the trace.

    Args:
        algorithm: its name.
        given: in the given order; None of a plan.
        random: median of random orders; None where none was drawn, and of a plan.
        order: plink's, or the one of an order file, or along the plan; None without one.
        seconds: that all simulations of it took.
    """

    algorithm: str
    given: Times | None
    random: Times | None
    order: Times | None
    seconds: float

    @property
    def gain(self) -> float | None:
        """How many times as long a random order takes."""
        if self.order is None or self.random is None:
            return None
        if not self.order.simulated_s or self.random.simulated_s is None:
            return None
        return self.random.simulated_s / self.order.simulated_s


@dataclass(frozen=True)
class Simulation:
    """What was found.

    Args:
        source: what messages call the network.
        hosts, ranks: how many.
        rows: algorithm by algorithm.
        refused: algorithms that are left out, and why.
        notes: what to know before trusting it.
    """

    source: str
    hosts: int
    ranks: int
    size_bytes: int
    random_orders: int
    rows: Sequence[Row]
    refused: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class _Thing:
    """What is run: a schedule of plink's, or SMPI.

    Args:
        algorithm: that predicts it, and that orders are searched for; None where there is none.
        predicted_s: along a plan, whose ranks' hosts then are `hosts`.
    """

    name: str
    schedule: Schedule | None
    smpi: tuple[str, str] | None
    algorithm: Algorithm | None
    eager_bytes: float
    hosts: Sequence[int] | None = None
    predicted_s: float | None = None


def _silent(_text: str) -> None:
    """Tell nobody."""


def simulate(
    cluster: Cluster,
    request: Request,
    *,
    platform: Platform | None = None,
    order: Order | None = None,
    plan: Plan | None = None,
    collectives: Sequence[str] = (ALL_REDUCE,),
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
        collectives: these, along the plan.
        trace: what ranks do, in place of algorithms.
        source: what messages call the order; None for what they call the cluster.
        tell: called with what begins.

    Raises:
        WrongUseError: no such algorithm, or none that takes so many ranks.
        PlinkError: SimGrid is not there, or it failed.
    """
    if trace is not None and trace.ranks > sum(host.slots for host in cluster.hosts):
        raise WrongUseError(
            f"the trace has {trace.ranks} ranks, and {cluster.source} has room for "
            f"{sum(host.slots for host in cluster.hosts)}"
        )
    layout = layout_of(cluster.hosts, None if trace is None else trace.ranks)
    known = network_of(cluster) if cluster.rtt is not None else None
    if platform is None:
        known = known or network_of(cluster)
        if not known.has_rates:
            raise WrongUseError(
                f"{cluster.source}: holds nothing that links carry, which a simulation needs",
                "plink probe tool=iperf3 and tool=uplinks measure it",
            )
        platform = platform_of(known.network)
    notes = [] if known is None else list(known.assumptions)
    refused: list[tuple[str, str]] = []
    if plan is not None:
        things = _along(cluster, plan, collectives, request, source or "the plan")
    elif trace is not None:
        things = [_Thing(TRACE, trace, None, trace_algorithm(trace), EAGER_BYTES)]
    else:
        things, refused = _things(cluster, request, layout)
    rng = np.random.default_rng(request.seed)
    given = layout.placement(range(layout.hosts))
    shuffled = [
        layout.placement(rng.permutation(layout.hosts)) for _ in range(request.random_orders)
    ]
    rows = []
    for thing in things:
        placements: dict[str, Sequence[Placement]] = {}
        if thing.hosts is not None:
            placements["order"] = [np.asarray(thing.hosts, dtype=np.intp)]
        else:
            placements["given"] = [given]
            if shuffled:
                placements["random"] = shuffled
        if thing.hosts is None and order is not None:
            placements["order"] = [np.asarray(placement_in(cluster, order, source or "the order"))]
        elif thing.hosts is None and request.search_s > 0.0 and cluster.rtt is not None:
            tell(f"{thing.name}: searching an order")
            placements["order"] = [_searched(cluster, request, thing, trace)]
        clock = None
        if known is not None and known.has_rates and thing.algorithm is not None:
            peers = peers_of(thing.algorithm, layout).ranks
            clock = Clock(thing.algorithm.table(peers, request.size_bytes), known.network)
        rows.append(_row(thing, placements, platform, request, clock, tell))
    return Simulation(
        source=source or cluster.source,
        hosts=layout.hosts,
        ranks=layout.ranks,
        size_bytes=request.size_bytes,
        random_orders=request.random_orders,
        rows=rows,
        refused=refused,
        notes=notes,
    )


def _along(
    cluster: Cluster, plan: Plan, collectives: Sequence[str], request: Request, source: str
) -> list[_Thing]:
    """The collectives along a plan."""
    found = forecast_plan(cluster, plan, request.size_bytes, collectives, source)
    place_of = {name: place for place, name in enumerate(cluster.names)}
    hosts = [place_of[rank.host] for rank in plan.ranks]
    return [
        _Thing(
            f"{plan.kind}: {row.collective}",
            schedule_of_traffic(
                traffic_of(Demand(row.collective, request.size_bytes), plan.forest), len(hosts)
            ),
            None,
            None,
            float("inf"),
            hosts,
            row.time_s,
        )
        for row in found.rows
    ]


def _things(
    cluster: Cluster, request: Request, layout: RankLayout
) -> tuple[list[_Thing], list[tuple[str, str]]]:
    """What is run, and what is not, with the reason."""
    things, refused = [], []
    for name in request.algorithms:
        family, colon, own = name.partition(":")
        if colon and family == SMPI:
            things.append(_smpi(name, own))
            continue
        if colon and family == PLAN:
            asked = PlanRequest(kind=own, size_bytes=request.size_bytes, seed=request.seed)
            plan = find_plan(cluster, asked).plan
            things += [
                replace(each, name=name)
                for each in _along(cluster, plan, (ALL_REDUCE,), request, name)
            ]
            continue
        algorithm = _find(name)
        try:
            ranks = peers_of(algorithm, layout).ranks
            reason = algorithm.refusal(ranks)
            if reason is None:
                refuse_too_many(algorithm, ranks, by_table=True)
        except WrongUseError as error:
            reason = str(error)
        if reason is not None:
            refused.append((name, reason))
            continue
        eager = EAGER_BYTES if name.startswith(_MEET) else float("inf")
        schedule = schedule_of_table(algorithm.table(ranks, request.size_bytes))
        things.append(_Thing(name, schedule, None, algorithm, eager))
    if not things:
        raise WrongUseError(refused[0][1])
    return things, refused


def _smpi(name: str, own: str) -> _Thing:
    if own not in ALL_REDUCES:
        raise WrongUseError(
            f"SMPI has no all-reduce called {own!r}", f"it has {', '.join(ALL_REDUCES)}"
        )
    like = find(_LIKE.get(own, _LIKE_OTHERS))
    # What a selector chooses is not known here, and so not predicted.
    is_known = own in _LIKE or own == "rab"
    return _Thing(name, None, ("all-reduce", own), like if is_known else None, EAGER_BYTES)


def algorithm_like(name: str) -> str:
    """The algorithm of plink's that an order for `smpi:NAME`, or for another one, is searched for."""
    family, colon, own = name.partition(":")
    return _LIKE.get(own, _LIKE_OTHERS) if colon and family == SMPI else name


def _find(name: str) -> Algorithm:
    try:
        return find(name)
    except ValueError as error:
        raise WrongUseError(
            str(error), "plink order --list-algorithms names them, and smpi:NAME is SMPI's"
        ) from None


def _searched(
    cluster: Cluster, request: Request, thing: _Thing, trace: Schedule | None
) -> Placement:
    """Plink's order for what is run."""
    asked = OrderRequest(
        algorithm=algorithm_like(thing.name),
        size_bytes=request.size_bytes,
        time_limit_s=request.search_s,
        seed=request.seed,
        ranks=None if trace is None else trace.ranks,
        own=None if trace is None else thing.algorithm,
    )
    found = find_order(cluster, asked)
    return np.asarray(placement_in(cluster, found, "the order"))


def _row(
    thing: _Thing,
    placements: Mapping[str, Sequence[Placement]],
    platform: Platform,
    request: Request,
    clock: Clock | None,
    tell: Tell,
) -> Row:
    times: dict[str, Times] = {}
    seconds = 0.0
    for name, orders in placements.items():
        simulated: list[float] = []
        predicted: list[float] = [] if thing.predicted_s is None else [thing.predicted_s]
        for number, placement in enumerate(orders):
            tell(f"{thing.name}: {name} {number + 1} of {len(orders)}")
            peers = _peers(thing, placement)
            if clock is not None:
                predicted.append(clock.time_s(peers))
            found = _run(thing, platform, peers, request)
            if found is None:
                seconds += request.timeout_s
                break
            simulated.append(found.time_s)
            seconds += found.seconds
        times[name] = Times(
            float(np.median(simulated)) if len(simulated) == len(orders) else None,
            float(np.median(predicted)) if predicted else None,
        )
    return Row(thing.name, times.get("given"), times.get("random"), times.get("order"), seconds)


def _peers(thing: _Thing, placement: Placement) -> Placement:
    """The host of each of an algorithm's peers, which may be hosts themselves."""
    if thing.algorithm is None or not thing.algorithm.is_over_hosts:
        return placement
    return np.asarray(list(dict.fromkeys(placement.tolist())), dtype=np.intp)


def _run(
    thing: _Thing, platform: Platform, placement: Placement, request: Request
) -> Simulated | None:
    """None where it takes too long."""
    try:
        if thing.schedule is not None:
            return run_schedule(
                platform,
                thing.schedule,
                placement,
                eager_bytes=thing.eager_bytes,
                timeout_s=request.timeout_s,
            )
        collective, own = thing.smpi or ("all-reduce", "default")
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


def to_json(found: Simulation) -> dict[str, Any]:
    """The JSON object that `--json` prints."""
    return {
        "source": found.source,
        "hosts": found.hosts,
        "ranks": found.ranks,
        "size_bytes": found.size_bytes,
        "random_orders": found.random_orders,
        "notes": list(found.notes),
        "rows": [{**asdict(row), "gain": row.gain} for row in found.rows],
        "refused": [{"algorithm": name, "reason": reason} for name, reason in found.refused],
    }

