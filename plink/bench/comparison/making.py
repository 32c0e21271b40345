"""From words on a command line to the cases of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from plink.base.errors import WrongUseError
from plink.base.progress import Progress
from plink.base.size import format_size
from plink.bench.clients.base import Workload
from plink.bench.comparison.plans import EnginePlan, plan_from_file, plans_of_kinds
from plink.bench.comparison.request import ENGINE, Case
from plink.bench.orders import NamedOrder
from plink.bench.request import Outlook, outlook, read_orders
from plink.files.cluster import Cluster
from solvers.slots.layout import RankLayout

# What works with less than an element for every rank. Of their other algorithms Open MPI takes
# another one then, and MPICH gives up.
_OF_ANY_SIZE = (
    ("gloo", "ring"),
    ("openmpi", "recursive-doubling"),
    ("mpich", "recursive-doubling"),
)

# Without round-trip times there is no order of plink's.
_ORDERS = "given,plink"
_ORDERS_UNMEASURED = "given"


@dataclass(frozen=True)
class Wanted:
    """What is to be compared.

    Args:
        ways: algorithms or kinds of plans, by client.
        plan_files: of the engine.
        orders: of the libraries' ranks; None for the given one and plink's.
        workloads: one a size.
        slots: ranks on every host.
        filling: the same, as solvers have it.
        seed: decides what chance does.
        time_limit_s: of a search for plink's order.
    """

    ways: Mapping[str, Sequence[str]]
    plan_files: Sequence[str]
    orders: str | None
    workloads: Sequence[Workload]
    slots: int
    filling: RankLayout
    seed: int
    time_limit_s: float


def make_cases(wanted: Wanted, cluster: Cluster, progress: Progress) -> list[Case]:
    """The cases, size by size and in each client by client.

    Raises:
        WrongUseError: no plan of a kind, a file that is no plan or order for these hosts.
        KeyboardInterrupt: the user stopped a search.
    """
    progress.stage("planning", len(wanted.ways) * len(wanted.workloads))
    by_client = {}
    for client, ways in wanted.ways.items():
        if client == ENGINE:
            by_client[client] = _engine_cases(wanted, ways, cluster, progress)
        else:
            by_client[client] = _library_cases(wanted, client, ways, cluster, progress=progress)
    cases = [
        case
        for number in range(len(wanted.workloads))
        for of_client in by_client.values()
        for case in of_client[number]
    ]
    if not cases:
        raise WrongUseError("nothing is left to compare", "ask for larger sizes with --size")
    return cases


def _engine_cases(
    wanted: Wanted, kinds: Sequence[str], cluster: Cluster, progress: Progress
) -> list[list[Case]]:
    """By size."""
    cases = []
    for workload in wanted.workloads:
        size_bytes = workload.size_bytes
        plans = [
            plan_from_file(path, cluster, wanted.slots, size_bytes) for path in wanted.plan_files
        ]
        if kinds:
            plans += plans_of_kinds(
                kinds,
                cluster,
                slots=wanted.slots,
                size_bytes=size_bytes,
                seed=wanted.seed,
            )
        cases.append([_engine_case(plan, workload) for plan in plans])
        progress.step()
    return cases


def _engine_case(plan: EnginePlan, workload: Workload) -> Case:
    order = NamedOrder("", tuple(plan.hosts))
    return Case(ENGINE, plan.label, order, workload, plan, plan.predicted_s)


def _library_cases(
    wanted: Wanted,
    client: str,
    algorithms: Sequence[str],
    cluster: Cluster,
    *,
    progress: Progress,
) -> list[list[Case]]:
    """By size. Orders are those of the largest one, so that they are the same in all."""
    text = wanted.orders or (_ORDERS_UNMEASURED if cluster.rtt is None else _ORDERS)
    ranks = wanted.filling.ranks
    largest = max(wanted.workloads, key=lambda workload: workload.size_bytes)
    orders_of = {
        algorithm: read_orders(
            text,
            cluster,
            _outlook(cluster, client, algorithm, largest, ranks),
            seed=wanted.seed,
            time_limit_s=wanted.time_limit_s,
            filling=wanted.filling,
        )
        for algorithm in algorithms
    }
    cases = []
    for workload in wanted.workloads:
        of_size = []
        for algorithm, orders in orders_of.items():
            if workload.elements < ranks and (client, algorithm) not in _OF_ANY_SIZE:
                size = format_size(workload.size_bytes)
                progress.say(f"{client} {algorithm} has no part for every rank of {size}: left out")
                continue
            ahead = _outlook(cluster, client, algorithm, workload, ranks)
            of_size += [
                Case(
                    client,
                    algorithm,
                    order,
                    workload,
                    predicted_s=ahead.predictor.cost(order.order).time_s,
                )
                for order in orders
            ]
        cases.append(of_size)
        progress.step()
    return cases


def _outlook(
    cluster: Cluster, client: str, algorithm: str, workload: Workload, ranks: int
) -> Outlook:
    return outlook(cluster, client, replace(workload, algorithm=algorithm), ranks)
