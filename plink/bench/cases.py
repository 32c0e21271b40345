"""Conversion of a command line's orders, clients and plans to the cases of a bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial

from plink.base.errors import WrongUseError
from plink.base.progress import ProgressListener
from plink.base.size import format_size
from plink.bench.clients.client import Workload
from plink.bench.orders import NamedOrder, Sources, names_in, resolve_orders
from plink.bench.plans import plan_from_file, plans_of_kinds
from plink.bench.request import ENGINE, HUB, Case, full_name
from plink.bench.served import ServedPlan
from plink.bench.spread import spread_orders
from plink.formats import document
from plink.formats import order as order_file
from plink.formats.cluster import Cluster
from plink.model.network import build_network
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.optimize.plans.traffic import Demand
from plink.optimize.prediction import Predictor, known_distances
from plink.plans.names import ALL_REDUCE, BARRIER, BROADCAST, REDUCE, SEND_RECEIVE
from plink.solvers.collectives.registry import find
from plink.solvers.slots.layout import RankLayout

# What works with less than an element for every rank. With their other algorithms Open MPI takes
# another one then, and MPICH gives up.
_ANY_SIZE = (
    ("gloo", "ring"),
    ("nccl", "ring"),
    ("nccl", "tree"),
    ("openmpi", "recursive-doubling"),
    ("mpich", "recursive-doubling"),
)

# Collectives in which ranks have no parts of their own.
_WHOLE = (BROADCAST, REDUCE, BARRIER, SEND_RECEIVE)

# Without round-trip times plink has no order.
_ORDERS = "given,plink"
_ORDERS_UNMEASURED = "given"


@dataclass(frozen=True)
class CaseOptions:
    """Options of the cases to compare.

    Args:
        ways: algorithms or kinds of plans, by client.
        plan_files: of the engine.
        orders: of the libraries' ranks; None for the given one and plink's.
        workloads: one for each collective and size.
        slots: ranks on every host.
        layout: how the libraries' ranks fill the hosts.
        seed: decides what chance does.
        time_limit_s: of a search for plink's order.
        served: plans of the hub.
    """

    ways: Mapping[str, Sequence[str]]
    plan_files: Sequence[str]
    orders: str | None
    workloads: Sequence[Workload]
    slots: int
    layout: RankLayout
    seed: int
    time_limit_s: float
    served: Sequence[ServedPlan] = ()


def make_cases(options: CaseOptions, cluster: Cluster, progress: ProgressListener) -> list[Case]:
    """Return the cases, size by size and in each client by client.

    Args:
        options: what is to be compared.
        cluster: the hosts, and what was measured between them.
        progress: hears what is left out.

    Raises:
        WrongUseError: no plan of a kind, a file that is not a plan or order for these hosts.
        KeyboardInterrupt: the user stopped a search.
    """
    progress.stage("planning", len(options.ways) * len(options.workloads))
    build_cases: list[Callable[[Workload], list[Case]]] = []
    for client, ways in options.ways.items():
        if client == HUB:
            build_cases.append(partial(_served_cases, options, cluster))
        elif client == ENGINE:
            build_cases.append(partial(_engine_cases, options, ways, cluster, progress))
        else:
            build_cases.append(_library_cases(options, client, ways, cluster, progress))
    cases: list[Case] = []
    for workload in options.workloads:
        for build in build_cases:
            cases += build(workload)
            progress.step()
    if not cases:
        raise WrongUseError("nothing is left to compare", "ask for larger sizes")
    return cases


def _engine_cases(
    options: CaseOptions,
    kinds: Sequence[str],
    cluster: Cluster,
    progress: ProgressListener,
    workload: Workload,
) -> list[Case]:
    if not _has_parts(workload, ENGINE, "", options.layout.ranks):
        progress.say(_without_parts(workload, ENGINE, workload.collective))
        return []
    slots, demand = options.slots, Demand(workload.collective, workload.size_bytes)
    plans = [plan_from_file(path, cluster, slots, demand) for path in options.plan_files]
    if kinds:
        plans += plans_of_kinds(kinds, cluster, slots=slots, demand=demand, seed=options.seed)
    return [
        Case(
            ENGINE, plan.label, NamedOrder("", tuple(plan.hosts)), workload, plan, plan.predicted_s
        )
        for plan in plans
    ]


def _served_cases(options: CaseOptions, cluster: Cluster, workload: Workload) -> list[Case]:
    """Return the cases with servers for a workload, predicted for the plan file's size."""
    place_of = {name: place for place, name in enumerate(cluster.names)}
    return [
        Case(
            HUB,
            plan.label,
            NamedOrder("", tuple(place_of[name] for name in plan.workers)),
            workload,
            predicted_s=plan.predicted_s if plan.size_bytes == workload.size_bytes else None,
            served=plan,
        )
        for plan in options.served
    ]


def _library_cases(
    options: CaseOptions,
    client: str,
    algorithms: Sequence[str],
    cluster: Cluster,
    progress: ProgressListener,
) -> Callable[[Workload], list[Case]]:
    """Return what builds a library's cases, with orders for its largest all-reduce."""
    ranks = options.layout.ranks

    @cache
    def predictor(algorithm: str, size_bytes: int) -> Predictor:
        return build_predictor(cluster, full_name(client, algorithm), size_bytes, ranks)

    largest_bytes = max(workload.size_bytes for workload in options.workloads)
    orders_of = {
        algorithm: read_orders(
            options.orders or (_ORDERS_UNMEASURED if cluster.rtt is None else _ORDERS),
            cluster,
            predictor(algorithm, largest_bytes),
            algorithm=full_name(client, algorithm),
            size_bytes=largest_bytes,
            seed=options.seed,
            time_limit_s=options.time_limit_s,
            layout=options.layout,
        )
        for algorithm in algorithms
    }

    def build_cases(workload: Workload) -> list[Case]:
        of_workload = orders_of
        if workload.collective != ALL_REDUCE:
            of_workload = {workload.collective: next(iter(orders_of.values()))}
        cases = []
        for algorithm, orders in of_workload.items():
            if not _has_parts(workload, client, algorithm, ranks):
                progress.say(_without_parts(workload, client, algorithm))
                continue
            for order in orders:
                cost = predictor(algorithm, workload.size_bytes).cost(order.order)
                case = Case(client, algorithm, order, workload, None, cost.time_s, cost.latency_us)
                cases.append(case)
        return cases

    return build_cases


def _has_parts(workload: Workload, client: str, algorithm: str, ranks: int) -> bool:
    """Return whether every rank has an element, or need not."""
    if workload.collective == ALL_REDUCE:
        may_be_tiny = client == ENGINE or (client, algorithm) in _ANY_SIZE
    else:
        may_be_tiny = workload.collective in _WHOLE
    return may_be_tiny or workload.elements >= ranks


def _without_parts(workload: Workload, client: str, algorithm: str) -> str:
    size = format_size(workload.size_bytes)
    return f"{client} {algorithm} has no part for every rank of {size}: left out"


def build_predictor(
    cluster: Cluster, algorithm: str, size_bytes: int, ranks: int | None = None
) -> Predictor:
    """Return the predictor of an algorithm, by its full name; with one rank a host for None."""
    return Predictor(
        find(algorithm),
        len(cluster.hosts) if ranks is None else ranks,
        size_bytes,
        distances=known_distances(cluster),
        network=build_network(cluster),
    )


def read_orders(
    text: str,
    cluster: Cluster,
    predictor: Predictor,
    *,
    algorithm: str,
    size_bytes: int,
    seed: int,
    time_limit_s: float,
    layout: RankLayout | None = None,
) -> list[NamedOrder]:
    """Return the orders that `text` names (`plink.bench.orders`).

    Args:
        text: such as `given,plink,random:5`.
        cluster: the hosts and their round-trip times.
        predictor: predictor of the algorithm's costs.
        algorithm: full name of the algorithm.
        size_bytes: size of each rank's buffer, in bytes.
        seed: decides the random orders and plink's search.
        time_limit_s: of that search.
        layout: how ranks fill the hosts, all of which have as many slots; one rank each for None.

    Raises:
        WrongUseError: a word that names no order, or a file that holds none of these hosts.
        KeyboardInterrupt: the user stopped plink's search.
    """
    names = cluster.names
    chosen = layout or RankLayout([1] * len(names), len(names))

    def solved() -> list[int]:
        wanted = OrderRequest(
            algorithm=algorithm,
            size=size_bytes,
            seed=seed,
            time_limit_s=time_limit_s,
            ranks=chosen.ranks,
            slots=chosen.slots[0],
        )
        order = find_order(cluster, wanted)
        if order.solver.ended_by == "interrupt":
            raise KeyboardInterrupt
        hosts = [names.index(name) for name in order.names]
        return [
            host
            for host, placed in zip(hosts, order.hosts, strict=True)
            for _ in range(placed.slots)
        ]

    sources = Sources(
        names=names,
        layout=chosen,
        seed=seed,
        solve=solved,
        spread=lambda count: spread_orders(predictor, build_network(cluster), count, seed),
        read_order=lambda path: _hosts_in_order_file(path, names, chosen),
        read_names=_hosts_in_list,
    )
    return resolve_orders(text, sources)


def _hosts_in_order_file(path: str, names: Sequence[str], layout: RankLayout) -> list[str]:
    order = order_file.read_order(path)
    if len(order.names) < order.ranks != layout.ranks and len(order.names) < len(names):
        slots = max(host.slots for host in order.hosts)
        raise WrongUseError(
            f"{path}: has {order.ranks} ranks on {len(order.names)} of {len(names)} hosts, "
            f"the bench has {layout.ranks}",
            "{ranks=} {slots=} compares orders of so many",
            arguments={"ranks": order.ranks, "slots": slots},
        )
    if order.host_of_rank is None:
        return order.names
    return [order.names[host] for host in order.host_of_rank]


def _hosts_in_list(path: str) -> list[str]:
    try:
        return names_in(document.read_bytes(path, document.MOST_LIST_BYTES).decode())
    except UnicodeDecodeError:
        raise WrongUseError(f"{path}: is not text") from None
