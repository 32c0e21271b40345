"""Preparation of a bench: what a request asks for, as cases for the hosts of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from plink.base.errors import WrongUseError
from plink.base.progress import ProgressListener
from plink.base.text import join_texts
from plink.bench.cases import CaseOptions, make_cases
from plink.bench.clients.client import Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.comparison_request import ComparisonRequest
from plink.bench.request import (
    CLIENTS,
    ENGINE,
    HUB,
    OF_ALL_COLLECTIVES,
    BenchRequest,
    check_workload,
    ways_of,
)
from plink.bench.served import ServedPlan, read_plans, split
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.measure.listed import apply_recorded_way
from plink.model.network import build_network
from plink.optimize.orders.slots import build_layout, with_slots
from plink.plans.names import ALL_REDUCE, BARRIER
from plink.probes.reach import Outgoing

_ORDERS = "given,plink,random:5"
# Spread over the range of what is predicted.
_CORRELATED_ORDERS = "spread:12"
# Fewer hardly tell a correlation from chance.
_LEAST_CORRELATED = 10

_MPI = ("openmpi", "mpich")
_USERS = {
    "plan": (ENGINE, HUB),
    "python": (ENGINE, HUB, "gloo", "nccl"),
    "tls": (ENGINE,),
    "mpicc": _MPI,
    "mpirun": _MPI,
    "remote_cache": _MPI,
}


def check_clients(request: ComparisonRequest) -> None:
    """Raise early for a request that no bench can carry out.

    Raises:
        WrongUseError: a client is not known, or does not take an option.
    """
    clients, arguments = _list_clients(request), vars(request)
    for client in clients:
        if client not in OF_ALL_COLLECTIVES and request.collectives != (ALL_REDUCE,):
            able = join_texts(OF_ALL_COLLECTIVES, "and")
            raise WrongUseError(
                f"{{collective}} is for {able}, not for {{client={client}}}", arguments=arguments
            )
    if not _compares_orders(request, clients):
        if request.correlate:
            raise WrongUseError("{correlate} needs one library and one size", arguments=arguments)
        if request.ranks is not None:
            raise WrongUseError(
                "{ranks} needs one library and one size",
                "{slots=K} starts K ranks on every host",
                arguments=arguments,
            )
    if request.orders is not None and clients in ([ENGINE], [HUB]):
        raise WrongUseError(
            f"{{orders}} does not apply to the client {clients[0]}, whose plans decide which "
            "ranks exchange data",
            "use {algo} for kinds of plans, or {plan} for a plan file",
            arguments=arguments,
        )
    for name, users in _USERS.items():
        if getattr(request, name) and not any(client in users for client in clients):
            raise WrongUseError(
                f"{{{name}}} is for {join_texts(users, 'and')}, not for {{client=}}",
                arguments=arguments,
            )
    if (request.mpicc or request.mpirun) and set(_MPI) <= set(clients):
        name = "mpicc" if request.mpicc else "mpirun"
        raise WrongUseError(
            f"{{{name}}} applies to one MPI, but the clients are {' and '.join(_MPI)}",
            "put the tools of both on the PATH",
            arguments=arguments,
        )


def prepare_bench(
    request: ComparisonRequest,
    cluster: Cluster,
    source: str,
    way: Outgoing,
    progress: ProgressListener,
) -> BenchRequest:
    """Return the cases of a request on a cluster, and what runs them.

    Args:
        request: a request that `check_clients` has passed.
        cluster: hosts, and what was measured between them.
        source: what messages call the cluster.
        way: how hosts are reached where the cluster does not say.
        progress: told what is left out.

    Raises:
        WrongUseError: no plan of a kind, a file that is not a plan or order for these hosts, or a
            workload that clients cannot run.
        KeyboardInterrupt: the user stopped a search.
    """
    clients, words = _list_clients(request), request.algorithms
    compares_orders = _compares_orders(request, clients)
    way = apply_recorded_way(way, cluster.way, source)
    ways = ways_of(clients, words)
    workloads = _list_workloads(request)
    slots = request.slots or 1
    served, plan_files = _read_plans(request.plan_files, clients)
    servers: Sequence[Host] = []
    if served:
        cluster, servers = split(cluster, served, slots)
    if plan_files and not any(word in ways.get(ENGINE, []) for word in words):
        ways[ENGINE] = []
    layout = build_layout(with_slots(cluster.hosts, slots), request.ranks)
    for workload in workloads:
        check_workload(workload, layout.ranks, may_be_tiny=not compares_orders)
    orders = request.orders
    if orders is None and compares_orders:
        orders = _CORRELATED_ORDERS if request.correlate else _ORDERS
    wanted = CaseOptions(
        ways=ways,
        plan_files=plan_files,
        served=served,
        orders=orders,
        workloads=workloads,
        slots=slots,
        layout=layout,
        seed=request.seed,
        time_limit_s=request.time_limit_s,
    )
    cases = make_cases(wanted, cluster, progress)
    if request.correlate and len(cases) < _LEAST_CORRELATED:
        raise WrongUseError(
            f"{{correlate}} needs at least {_LEAST_CORRELATED} orders, not {len(cases)}",
            "give more orders, such as {orders=given,plink,spread:12}",
            arguments=vars(request),
        )
    known = build_network(cluster)
    plans = [case.plan for case in cases if case.plan is not None]
    return BenchRequest(
        cluster=cluster,
        source=source,
        cases=cases,
        compares_orders=compares_orders,
        network=known.network,
        groups=plans[0].groups if plans else cluster.groups,
        assumptions=known.assumptions if known.has_rates else (),
        rounds=request.rounds,
        seed=request.seed,
        slots=slots,
        way=way,
        python=request.python,
        tls=request.tls,
        tools=MpiTools(request.mpicc, request.mpirun, request.remote_cache),
        servers=servers,
    )


def _list_clients(request: ComparisonRequest) -> list[str]:
    names = [name.strip() for name in request.client.split(",")]
    for name in names:
        if name not in CLIENTS:
            raise WrongUseError(
                f"{{client}} {name!r} is not known",
                f"the clients are {', '.join(CLIENTS)}",
                arguments={"client": request.client},
            )
        if names.count(name) > 1:
            raise WrongUseError(
                f"{{client}} names {name} twice", arguments={"client": request.client}
            )
    return names


def _compares_orders(request: ComparisonRequest, clients: Sequence[str]) -> bool:
    """Return whether one library runs one collective of one size in several orders."""
    is_single = max(len(clients), len(request.sizes), len(request.algorithms)) == 1
    is_library = clients not in ([ENGINE], [HUB])
    return is_single and is_library and request.collectives == (ALL_REDUCE,)


def _read_plans(paths: Sequence[str], clients: Sequence[str]) -> tuple[list[ServedPlan], list[str]]:
    """Return the plans of the hub, and the plan files of the engine."""
    if HUB not in clients:
        return [], list(paths)
    served, others = read_plans(paths)
    if not served:
        raise WrongUseError(
            "{client=hub} needs a plan with servers",
            "plink plan CLUSTER --servers HOST --kind ps -o FILE makes a plan for {plan=FILE}",
            arguments=dict.fromkeys(("client", "plan")),
        )
    if others and ENGINE not in clients:
        raise WrongUseError(
            f"{others[0]}: a plan without servers needs {{client=engine}}",
            "{client=hub,engine} runs both",
            arguments={"client": None},
        )
    return served, others


def _list_workloads(request: ComparisonRequest) -> list[Workload]:
    sizes = request.sizes
    return [
        Workload(
            size_bytes=size_bytes,
            warmups=request.warmups,
            repetitions=request.repetitions,
            timeout_s=request.timeout_s,
            collective=collective,
        )
        for collective in request.collectives
        # A barrier has no size.
        for size_bytes in (sizes[:1] if collective == BARRIER else sizes)
    ]
