"""`plink bench`: run real clients in several orders and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from plink.base.errors import PartialResultError, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.size import DEFAULT_SIZE
from plink.base.text import join_texts, json_text
from plink.cli.options import (
    CollectivesType,
    SectionedCommand,
    size_option,
    with_mpi_options,
    with_seed_option,
    with_time_limit_option,
    with_timeout_option,
)
from plink.cli.progress import StageProgress
from plink.cli.way_options import take_way, with_way_options
from plink.plans.names import ALL_REDUCE, BARRIER, COLLECTIVES

with lazy_imports():
    from plink.bench import bench as client_bench
    from plink.bench import cases as bench_cases
    from plink.bench import order_report, table
    from plink.bench import plot as bench_plot
    from plink.bench import request as bench_request
    from plink.bench import served as bench_served
    from plink.bench.clients import client as clients_client
    from plink.bench.clients import mpi as clients_mpi
    from plink.files import cluster as cluster_file
    from plink.files import comparison as comparison_file
    from plink.files import document, hosts, structs
    from plink.measure import listed
    from plink.model import network
    from plink.optimize.orders import slots as orders_slots
    from plink.show.terminal import paper as paper_page


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink bench cluster.json --client gloo --size 20MB "
    "--orders given,plink,random:5. Example: plink bench cluster.json --client engine,gloo "
    "--size 4,4KB,20MB. Example: plink bench cluster.json --client engine,gloo "
    "--collective all-gather,reduce-scatter --size 20MB",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--client",
    metavar="LIST",
    default="gloo",
    show_default=True,
    help="Clients to run, as installed on the hosts: engine and hub (plink's own), gloo and "
    "nccl (PyTorch's), openmpi, mpich; several are compared with each other.",
)
@click.option(
    "--algo",
    metavar="LIST",
    help="Algorithms to run. For a library, set by its own switches: ring (default), tree, "
    "segmented-ring, recursive-doubling, rabenseifner, reduce-scatter-allgather. For the "
    "engine, kinds of plans: auto (default), 2lha, flat, ring, tree.",
)
@click.option(
    "--collective",
    "collectives",
    type=CollectivesType(),
    default=ALL_REDUCE,
    show_default=True,
    help=f"Collectives that the engine and Gloo run, each by itself: {', '.join(COLLECTIVES)}.",
)
@click.option(
    "--plan",
    metavar="FILE",
    multiple=True,
    help="Plan file for the engine; for the hub, one with servers. May be repeated.",
)
@click.option(
    "--size",
    metavar="LIST",
    default=DEFAULT_SIZE,
    show_default=True,
    help="Sizes in bytes of the whole buffer, on each rank before or after the collective: 20M "
    "or 20MB (10^6), 4KiB (2^10), 1024.",
)
@click.option(
    "--orders",
    metavar="LIST",
    help="Orders of a library's ranks: given, plink, random:N, spread:N, an order file, "
    "file:NAMES (default: given,plink,random:5; given,plink for several clients or sizes).",
)
@click.option(
    "--correlate",
    is_flag=True,
    help="Measure how well predictions rank orders (with --orders spread:12 unless given).",
)
@click.option(
    "--plot",
    metavar="FILE.svg",
    help="File for a plot of predicted against measured times; for several clients or sizes, "
    "of times against sizes.",
)
@click.option(
    "--ranks",
    metavar="N",
    type=click.IntRange(2, 1 << 24),
    help="Number of ranks (default: all slots); each order then uses as many hosts as it needs.",
)
@click.option("--slots", type=click.IntRange(1, 1024), help="Ranks on every host (default: 1).")
@click.option(
    "--rounds",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Number of times that everything is launched, interleaved.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(1, 100_000),
    default=3,
    show_default=True,
    help="Timed repetitions of each launch.",
)
@click.option(
    "--warmups",
    type=click.IntRange(0, 100_000),
    default=1,
    show_default=True,
    help="Untimed repetitions before the timed ones.",
)
@with_seed_option("Seed of the random orders, plink's search and the sequence of launches.")
@with_time_limit_option("Seconds to search for plink's order.")
@with_timeout_option
@click.option(
    "--python", metavar="PATH", help="Engine, Gloo, NCCL: Python interpreter on the hosts."
)
@click.option(
    "--tls",
    metavar="FOLDER",
    help="Engine: encrypt, with the certificates in this folder on the hosts.",
)
@with_mpi_options
@with_way_options
@click.option("-o", "--output", metavar="FILE", help="JSON file to write all results to.")
@click.option("--json", "as_json", is_flag=True, help="Print all results as JSON.")
def command(**options: Any) -> int:
    """Run a real client in several orders and compare; or several clients and sizes.

    Starts one rank a host over SSH, or as many as --slots says, checks every result, and compares
    the times with what the cluster file predicts. Ctrl-C prints what was measured so far.
    """
    return _run(options, StageProgress())


_ORDERS = "given,plink,random:5"
# Spread over the range of what is predicted.
_CORRELATED_ORDERS = "spread:12"
# Fewer hardly tell a correlation from chance.
_LEAST_CORRELATED = 10

_MPI = ("openmpi", "mpich")
_PYTHON = ("engine", "hub", "gloo", "nccl")
_HELP = "plink bench --help"


def _run(options: Mapping[str, Any], progress: StageProgress) -> int:
    """Run `plink bench` with these options; return the exit code.

    Raises:
        WrongUseError: a file or an option is wrong.
        PlinkError, ProbesError: nothing could be measured.
        PartialResultError: not all rounds ran; what was measured before has been printed.
    """
    clients = _clients_in(options["client"])
    has_several = len(clients) > 1 or "," in options["size"] + (options["algo"] or "")
    has_several |= options["collectives"] != (ALL_REDUCE,)
    compares_orders = not has_several and clients not in (
        [bench_request.ENGINE],
        [bench_request.HUB],
    )
    _check(options, clients, compares_orders=compares_orders)
    with progress:
        request = _request(options, clients, progress, compares_orders=compares_orders)
        done = client_bench.bench(request, progress)
    return _deliver(options, done)


def _clients_in(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in bench_request.CLIENTS:
            raise WrongUseError(
                f"--client {name!r} is not known",
                f"the clients are {', '.join(bench_request.CLIENTS)}",
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
    if options["orders"] is not None and clients in ([bench_request.ENGINE], [bench_request.HUB]):
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
        if client not in bench_request.OF_ALL_COLLECTIVES and collectives != (ALL_REDUCE,):
            able = join_texts(bench_request.OF_ALL_COLLECTIVES, "and")
            raise WrongUseError(f"--collective is for {able}, not for --client {client}", _HELP)


def _check_tools(options: Mapping[str, Any], clients: Sequence[str]) -> None:
    mpi = [client for client in clients if client in _MPI]
    is_for = {
        "plan": [bench_request.ENGINE, bench_request.HUB],
        "python": _PYTHON,
        "tls": [bench_request.ENGINE],
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
) -> bench_request.BenchRequest:
    values = dict(options)
    words = [] if values["algo"] is None else [word.strip() for word in values["algo"].split(",")]
    ways = bench_request.ways_of(clients, words)
    workloads = _workloads(values)
    cluster = cluster_file.read_cluster(values["file"])
    slots = values["slots"] or 1
    served, plan_files, servers = _read_served_plans(values["plan"], clients)
    if served:
        cluster, servers = bench_served.split(cluster, served, slots)
    if plan_files and not any(word in ways.get(bench_request.ENGINE, []) for word in words):
        ways[bench_request.ENGINE] = []
    layout = orders_slots.build_layout(
        orders_slots.with_slots(cluster.hosts, slots), values["ranks"]
    )
    for workload in workloads:
        bench_request.check_workload(workload, layout.ranks, may_be_tiny=not compares_orders)
    orders = values["orders"]
    if orders is None and compares_orders:
        orders = _CORRELATED_ORDERS if values["correlate"] else _ORDERS
    wanted = bench_cases.CaseOptions(
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
    cases = bench_cases.make_cases(wanted, cluster, progress)
    if values["correlate"] and len(cases) < _LEAST_CORRELATED:
        raise WrongUseError(
            f"--correlate needs at least {_LEAST_CORRELATED} orders, not {len(cases)}",
            "give more orders, such as --orders given,plink,spread:12",
        )
    known = network.build_network(cluster)
    plans = [case.plan for case in cases if case.plan is not None]
    return bench_request.BenchRequest(
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
        way=listed.apply_recorded_way(
            take_way(values), cluster.way, document.label(values["file"])
        ),
        python=values["python"],
        tls=values["tls"],
        tools=clients_mpi.MpiTools(values["mpicc"], values["mpirun"], values["remote_cache"]),
        servers=servers,
    )


def _read_served_plans(
    paths: Sequence[str], clients: Sequence[str]
) -> tuple[list[bench_served.ServedPlan], list[str], list[hosts.Host]]:
    """Return the plans of the hub, the plan files of the engine, and no servers yet."""
    if bench_request.HUB not in clients:
        return [], list(paths), []
    served, others = bench_served.read_plans(paths)
    if not served:
        raise WrongUseError(
            "--client hub needs a plan with servers",
            "plink plan CLUSTER --servers HOST --kind ps -o FILE makes a plan for --plan FILE",
        )
    if others and bench_request.ENGINE not in clients:
        raise WrongUseError(
            f"{others[0]}: a plan without servers needs --client engine",
            "--client hub,engine runs both",
        )
    return served, others, []


def _workloads(options: Mapping[str, Any]) -> list[clients_client.Workload]:
    sizes = [size_option(text) for text in options["size"].split(",")]
    if len(set(sizes)) < len(sizes):
        raise WrongUseError("--size names a size twice")
    return [
        clients_client.Workload(
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


def _deliver(options: Mapping[str, Any], done: client_bench.BenchOutcome) -> int:
    """Write and print the measurements; return the exit code."""
    result, orders = done.result, done.orders
    data = (
        comparison_file.encode_comparison(result)
        if orders is None
        else structs.encode(order_report.describe_orders(result, orders))
    )
    output: str | None = options["output"]
    if output is not None:
        document.write_bytes(output, document.dump(data))
    if options["plot"] is not None:
        document.write_bytes(options["plot"], bench_plot.plot(result, orders).encode())
    if output != document.STANDARD_STREAM:
        if options["as_json"]:
            click.echo(json_text(data))
        else:
            paper_page.paper(None).console.print(table.render(result, orders))
    if done.stopped is not None:
        raise PartialResultError(f"not all rounds ran: {done.stopped}", done.stopped.hint)
    return 0
