"""Action of `plink bench`: what to run, and what to do with the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from plink.base.errors import PartialResultError, WrongUseError
from plink.base.text import join_texts, json_text
from plink.bench import order_report
from plink.bench.bench import BenchOutcome, bench
from plink.bench.cases import CaseOptions, make_cases
from plink.bench.clients.client import Workload
from plink.bench.clients.mpi import MpiTools
from plink.bench.plot import plot
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
from plink.bench.table import render
from plink.cli.options import size_option
from plink.cli.progress import StageProgress
from plink.cli.way_options import take_way
from plink.files import cluster as cluster_file
from plink.files import comparison as comparison_file
from plink.files import document
from plink.files.hosts import Host
from plink.measure.listed import apply_recorded_way
from plink.model.network import build_network
from plink.optimize.orders.slots import layout_of, with_slots
from plink.plans.names import ALL_REDUCE, BARRIER
from plink.show.terminal.paper import paper

_ORDERS = "given,plink,random:5"
# Spread over the range of what is predicted.
_CORRELATED_ORDERS = "spread:12"
# Fewer hardly tell a correlation from chance.
_LEAST_CORRELATED = 10

_MPI = ("openmpi", "mpich")
_PYTHON = (ENGINE, HUB, "gloo", "nccl")
_HELP = "plink bench --help"


def run_command(options: Mapping[str, Any], progress: StageProgress) -> int:
    """Run `plink bench` with these options; return the exit code.

    Raises:
        WrongUseError: a file or an option is wrong.
        PlinkError, ProbesError: nothing could be measured.
        PartialResultError: not all rounds ran; what was measured before has been printed.
    """
    clients = _clients_in(options["client"])
    has_several = len(clients) > 1 or "," in options["size"] + (options["algo"] or "")
    has_several |= options["collectives"] != (ALL_REDUCE,)
    compares_orders = not has_several and clients not in ([ENGINE], [HUB])
    _check(options, clients, compares_orders=compares_orders)
    with progress:
        request = _request(options, clients, progress, compares_orders=compares_orders)
        done = bench(request, progress)
    return _deliver(options, done)


def _clients_in(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in CLIENTS:
            raise WrongUseError(
                f"--client {name!r} is not known", f"the clients are {', '.join(CLIENTS)}"
            )
    for name in names:
        if names.count(name) > 1:
            raise WrongUseError(f"--client names {name} twice")
    return names


def _check(options: Mapping[str, Any], clients: Sequence[str], *, compares_orders: bool) -> None:
    """Raise early for options that cannot lead to a result."""
    _check_collectives(options["collectives"], clients)
    if options["correlate"] and not compares_orders:
        raise WrongUseError("--correlate needs one library and one size", _HELP)
    if options["ranks"] is not None and not compares_orders:
        raise WrongUseError(
            "--ranks needs one library and one size",
            "--slots K starts K ranks on every host",
        )
    if options["orders"] is not None and clients in ([ENGINE], [HUB]):
        raise WrongUseError(
            f"--orders does not apply to the client {clients[0]}, whose plans decide which "
            "ranks exchange data",
            "use --algo for kinds of plans, or --plan for a plan file",
        )
    _check_tools(options, clients)
    orders = [word.strip().removeprefix("file:") for word in (options["orders"] or "").split(",")]
    sources = [options["file"], *options["plan"], *orders]
    for output in (options["output"], options["plot"]):
        if output is not None:
            document.check_writable(output)
            for source in sources:
                document.refuse_same_file(source, output)


def _check_collectives(collectives: Sequence[str], clients: Sequence[str]) -> None:
    if len(set(collectives)) < len(collectives):
        raise WrongUseError("--collective names a collective twice")
    for client in clients:
        if client not in OF_ALL_COLLECTIVES and collectives != (ALL_REDUCE,):
            able = join_texts(OF_ALL_COLLECTIVES, "and")
            raise WrongUseError(f"--collective is for {able}, not for --client {client}", _HELP)


def _check_tools(options: Mapping[str, Any], clients: Sequence[str]) -> None:
    mpi = [client for client in clients if client in _MPI]
    is_for = {
        "plan": [ENGINE, HUB],
        "python": _PYTHON,
        "tls": [ENGINE],
        "mpicc": _MPI,
        "mpirun": _MPI,
        "remote_cache": _MPI,
    }
    for name, users in is_for.items():
        option = f"--{name.replace('_', '-')}"
        if options[name] and not any(client in users for client in clients):
            raise WrongUseError(
                f"{option} is for {join_texts(users, 'and')}, not for --client {','.join(clients)}",
                _HELP,
            )
        if options[name] and name in ("mpicc", "mpirun") and len(mpi) > 1:
            raise WrongUseError(
                f"{option} applies to one MPI, but the clients are {' and '.join(mpi)}",
                "put the tools of both on the PATH",
            )


def _request(
    options: Mapping[str, Any],
    clients: Sequence[str],
    progress: StageProgress,
    *,
    compares_orders: bool,
) -> BenchRequest:
    values = dict(options)
    words = [] if values["algo"] is None else [word.strip() for word in values["algo"].split(",")]
    ways = ways_of(clients, words)
    workloads = _workloads(values)
    cluster = cluster_file.read_cluster(values["file"])
    slots = values["slots"] or 1
    served, plan_files, servers = _read_served_plans(values["plan"], clients)
    if served:
        cluster, servers = split(cluster, served, slots)
    if plan_files and not any(word in ways.get(ENGINE, []) for word in words):
        ways[ENGINE] = []
    layout = layout_of(with_slots(cluster.hosts, slots), values["ranks"])
    for workload in workloads:
        check_workload(workload, layout.ranks, may_be_tiny=not compares_orders)
    orders = values["orders"]
    if orders is None and compares_orders:
        orders = _CORRELATED_ORDERS if values["correlate"] else _ORDERS
    wanted = CaseOptions(
        ways=ways,
        plan_files=plan_files,
        served=served,
        orders=orders,
        workloads=workloads,
        slots=slots,
        layout=layout,
        seed=values["seed"],
        time_limit_s=values["time_limit_s"],
    )
    cases = make_cases(wanted, cluster, progress)
    if values["correlate"] and len(cases) < _LEAST_CORRELATED:
        raise WrongUseError(
            f"--correlate needs at least {_LEAST_CORRELATED} orders, not {len(cases)}",
            "give more orders, such as --orders given,plink,spread:12",
        )
    known = build_network(cluster)
    plans = [case.plan for case in cases if case.plan is not None]
    return BenchRequest(
        cluster=cluster,
        source=document.label(values["file"]),
        cases=cases,
        compares_orders=compares_orders,
        network=known.network,
        groups=plans[0].groups if plans else cluster.groups,
        assumptions=known.assumptions if known.has_rates else (),
        rounds=values["rounds"],
        seed=values["seed"],
        slots=slots,
        way=apply_recorded_way(take_way(values), cluster.way, document.label(values["file"])),
        python=values["python"],
        tls=values["tls"],
        tools=MpiTools(values["mpicc"], values["mpirun"], values["remote_cache"]),
        servers=servers,
    )


def _read_served_plans(
    paths: Sequence[str], clients: Sequence[str]
) -> tuple[list[ServedPlan], list[str], list[Host]]:
    """Return the plans of the hub, the plan files of the engine, and no servers yet."""
    if HUB not in clients:
        return [], list(paths), []
    served, others = read_plans(paths)
    if not served:
        raise WrongUseError(
            "--client hub needs a plan with servers",
            "plink plan CLUSTER --servers HOST --kind ps -o FILE makes a plan for --plan FILE",
        )
    if others and ENGINE not in clients:
        raise WrongUseError(
            f"{others[0]}: a plan without servers needs --client engine",
            "--client hub,engine runs both",
        )
    return served, others, []


def _workloads(options: Mapping[str, Any]) -> list[Workload]:
    sizes = [size_option(text) for text in options["size"].split(",")]
    if len(set(sizes)) < len(sizes):
        raise WrongUseError("--size names a size twice")
    return [
        Workload(
            size_bytes=size_bytes,
            warmups=options["warmups"],
            repetitions=options["repetitions"],
            timeout_s=options["timeout_s"],
            collective=collective,
        )
        for collective in options["collectives"]
        # A barrier has no size.
        for size_bytes in (sizes[:1] if collective == BARRIER else sizes)
    ]


def _deliver(options: Mapping[str, Any], done: BenchOutcome) -> int:
    """Write and print the measurements; return the exit code."""
    result, orders = done.result, done.orders
    data = (
        comparison_file.encode_comparison(result)
        if orders is None
        else order_report.to_json(result, orders)
    )
    output: str | None = options["output"]
    if output is not None:
        document.write_bytes(output, document.dump(data))
    if options["plot"] is not None:
        document.write_bytes(options["plot"], plot(result, orders).encode())
    if output != document.STANDARD_STREAM:
        if options["as_json"]:
            click.echo(json_text(data))
        else:
            paper(None).console.print(render(result, orders))
    if done.stopped is not None:
        raise PartialResultError(f"not all rounds ran: {done.stopped}", done.stopped.hint)
    return 0
