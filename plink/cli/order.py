"""`plink order`: find a better rank order, or write one for a launcher."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.size import DEFAULT_SIZE
from plink.base.text import format_count, format_names, printable, rtt_text, share_text
from plink.cli.format_option import CommandWithFormats, with_format_option
from plink.cli.json_output import print_json_line
from plink.cli.options import (
    FiniteRange,
    SizeType,
    given_options,
    with_distances_option,
    with_seed_option,
    with_time_limit_option,
)
from plink.cli.order_options import apply_trace, check_executor, parse_mesh_options
from plink.cli.stderr import console, note, warn
from plink.files import document

if TYPE_CHECKING:
    from plink.files.cluster import Cluster
    from plink.files.measurements import Failure
    from plink.files.order import Order
    from plink.optimize.orders.request import OrderRequest
    from plink.solvers.search import SearchProgress


def _list_algorithms(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if not is_asked or context.resilient_parsing:
        return
    from plink.show.terminal.algorithms import print_algorithms  # noqa: PLC0415  as below

    print_algorithms()
    context.exit()


@click.command(
    cls=CommandWithFormats,
    epilog="Example: plink order cluster.json --algo ring --format openmpi -o hostfile",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "--algo",
    "algorithm",
    metavar="NAME",
    default="ring",
    show_default=True,
    help="Collective algorithm that the order is for: ring, halving-doubling, tree, bcube, "
    "gloo-ring, openmpi-rabenseifner, ... (--list-algorithms).",
)
@click.option(
    "--list-algorithms",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_algorithms,
    help="Print every algorithm with its description.",
)
@click.option(
    "--mesh",
    "mesh_text",
    metavar="SIZES",
    help="Order ranks for the dimensions of a mesh instead of --algo, each of whose groups "
    "runs a collective. As in PyTorch's DeviceMesh, the last dimension's ranks are neighbours. "
    "Example: --mesh dp=4,pp=2,tp=2 --traffic tp=20GB,dp=halving-doubling:2GB,pp=100MB",
)
@click.option(
    "--traffic",
    metavar="BYTES",
    help="Bytes (or shares) that each dimension of the mesh moves per iteration, and "
    "optionally its algorithm as ALGO:BYTES; by default pp is a chain, ep all-to-all and "
    "others a ring. Dimensions left out have no traffic (default: --size in each).",
)
@click.option(
    "--trace",
    "trace_name",
    metavar="FILE",
    help="Order ranks for the traffic of a job instead of --algo: a file in GOAL's text "
    "format, or one of Chakra's execution traces NAME.0.et, NAME.1.et, ... (the others beside "
    "it are read, too).",
)
@click.option(
    "--objective",
    type=click.Choice(["latency", "contention", "bandwidth"]),
    help="Cost to minimise: the sum of latencies, the predicted time of flows that share "
    "links, or the time of a Gbit over the bottleneck (default: contention if the file holds "
    "uplinks, else latency; bandwidth if it holds no round-trip times).",
)
@click.option(
    "--size",
    "size_bytes",
    type=SizeType(),
    default=DEFAULT_SIZE,
    show_default=True,
    help="Size of the buffer, for contention: 20MB, 4KiB, 1024.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="File to write: the order, or the launcher's file."
)
@with_format_option
@click.option(
    "--ranks",
    metavar="N",
    type=click.IntRange(1, 1 << 24),
    help="Number of ranks (default: all slots). If there are more hosts than needed, the best "
    "are chosen.",
)
@click.option(
    "--slots",
    type=click.IntRange(1, 1 << 16),
    help="Ranks on every host (default: the file's slots).",
)
@click.option(
    "--interleave",
    "is_interleaved",
    is_flag=True,
    help=(
        "Allow ranks of a host not to be adjacent where that is cheaper; not every launcher "
        "supports it."
    ),
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100),
    help="Percentile that stands for a pair (default: the file's reading).",
)
@with_distances_option()
@with_time_limit_option("Seconds for everything but reading the file.")
@with_seed_option()
@click.option(
    "--prove",
    "prove_s",
    type=FiniteRange(0, 86_400),
    default=0.0,
    metavar="SECONDS",
    help="Seconds in which an exact engine searches for a better order, or proves that there "
    "is none.",
)
@click.option(
    "--engine",
    type=click.Choice(["cp-sat", "z3"]),
    default="cp-sat",
    show_default=True,
    help="Exact engine of --prove: OR-Tools' CP-SAT, or Z3 as in Luo 2020.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Number of search threads.",
)
@click.option(
    "--executor",
    metavar="WHERE",
    help="Search by --restarts of --steps each, not by time, on an executor: local "
    "(--threads), dask://HOST:PORT or ray://HOST:PORT. The same seed gives the same order "
    "everywhere.",
)
@click.option(
    "--restarts",
    type=click.IntRange(1, 1 << 20),
    default=8,
    show_default=True,
    help="With --executor: number of searches, each with its own seed.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 1 << 40),
    default=1_000_000,
    show_default=True,
    help="With --executor: moves that each search tries (a search for a ring ends by itself).",
)
@click.option("--json", "as_json", is_flag=True, help="Print order and costs as JSON.")
def command(
    *,
    file: str,
    output: str | None,
    format_name: str | None,
    as_json: bool,
    mesh_text: str | None,
    traffic: str | None,
    trace_name: str | None,
    **wanted: Any,
) -> int:
    """Find a better rank order and write the launcher's file.

    Reads a cluster file, or an order file made before (nothing is searched then); `-` is standard
    input or output. Ctrl-C ends the search and keeps the best order so far.
    """
    start_s = time.monotonic()
    # numpy and rich would slow `--help`.
    from plink.files import order as order_file  # noqa: PLC0415
    from plink.files.structs import encode  # noqa: PLC0415
    from plink.optimize.leaving_out import limiting  # noqa: PLC0415
    from plink.optimize.orders.quality import notes_on  # noqa: PLC0415
    from plink.optimize.orders.request import OrderRequest  # noqa: PLC0415
    from plink.show.terminal.limiting import limiting_lines  # noqa: PLC0415
    from plink.show.terminal.order import print_order  # noqa: PLC0415
    from plink.show.terminal.outliers import print_outliers  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    has_data_on_stdout = _check(file, output, format_name, as_json=as_json)
    check_executor(wanted["executor"])
    mesh = parse_mesh_options(mesh_text, traffic, wanted["size_bytes"])
    request = apply_trace(OrderRequest(**wanted, mesh=mesh), trace_name)
    order, cluster = _order(file, request, format_name, start_s)
    _write(order, output, format_name)
    found = None if cluster is None else limiting(cluster, order)
    if as_json:
        limits = {} if found is None else encode(found)
        print_json_line(order_file.summarize_order(order) | limits)
    else:
        page = console() if has_data_on_stdout else paper(None).console
        print_order(page, order)
        if found is not None:
            print_outliers(page, limiting_lines(found, order, document.argument(file)))
    for text in notes_on(order):
        note(text)
    if format_name is not None and output is not None:
        _explain(format_name, output, order)
    return _warn(order, () if cluster is None else cluster.unreachable)


def _check(file: str, output: str | None, format_name: str | None, *, as_json: bool) -> bool:
    """Raise early for options that cannot work; return whether the file goes to standard output."""
    if format_name is not None:
        from plink.deploy import launchers  # noqa: PLC0415

        if format_name not in launchers.describe_formats():
            raise WrongUseError(
                f"there is no format {format_name!r}", "plink order --format LIST lists the formats"
            )
    if output is not None:
        document.check_writable(output)
        document.refuse_same_file(file, output)
    is_default = output is None and format_name is not None
    has_data_on_stdout = is_default or output == document.STANDARD_STREAM
    if has_data_on_stdout and as_json:
        raise WrongUseError(
            "--json and the file both write to standard output", "give the file a name with -o"
        )
    return has_data_on_stdout


def _order(
    file: str, request: OrderRequest, format_name: str | None, start_s: float
) -> tuple[Order, Cluster | None]:
    """Return the order and its cluster; reading files does not count towards the time limit."""
    from plink.files import cluster as cluster_file  # noqa: PLC0415
    from plink.files import order as order_file  # noqa: PLC0415
    from plink.optimize.orders.ordering import find_order  # noqa: PLC0415
    from plink.solvers.limits.deadline import Deadline  # noqa: PLC0415

    spent_s = time.monotonic() - start_s
    found = document.read(file)
    if found.format == order_file.FORMAT:
        order = order_file.decode_order(found.data, found.source)
        return _made_before(order, request, found.source), None
    cluster = cluster_file.open_cluster(found)
    deadline = Deadline(request.time_limit_s - spent_s)
    if format_name is not None and request.ranks is None and request.mesh is None:
        from plink.deploy import launchers  # noqa: PLC0415
        from plink.optimize.orders.slots import with_slots  # noqa: PLC0415

        # What cannot be written in this order cannot in any: it is refused before the search.
        slotted = with_slots(cluster.hosts, request.slots)
        launchers.render(format_name, slotted, cluster.groups)
    stderr = console()
    if not stderr.is_terminal:
        return find_order(cluster, request, deadline=deadline), cluster
    with stderr.status("") as status:
        on_progress = _show_on(status.update)
        return find_order(cluster, request, on_progress, deadline=deadline), cluster


def _made_before(order: Order, request: OrderRequest, source: str) -> Order:
    """Return an order from a file, with the requested number of ranks per host."""
    from plink.optimize.orders.slots import order_with_slots  # noqa: PLC0415

    found = order if request.slots is None else order_with_slots(order, request.slots)
    if request.ranks not in (None, found.ranks):
        raise WrongUseError(
            f"{source}: the order has {format_count(found.ranks, 'rank')}, not {request.ranks}",
            "plink order CLUSTER --ranks makes an order for that number",
        )
    of_the_search = {item.name for item in fields(request)} - {"slots"}
    given = given_options(click.get_current_context())
    of_the_search |= {"mesh_text", "traffic", "trace_name"}
    unused = [option for name, option in given.items() if name in of_the_search]
    if unused:
        verb = "has" if len(unused) == 1 else "have"
        note(f"the order is from a file, so {format_names(unused)} {verb} no effect")
    return found


def _write(order: Order, output: str | None, format_name: str | None) -> None:
    if format_name is not None:
        from plink.deploy import launchers  # noqa: PLC0415

        text = launchers.render(format_name, order.runs, order.groups, order.unused)
        document.write_bytes(output or document.STANDARD_STREAM, text.encode())
    elif output is not None:
        from plink.files import order as order_file  # noqa: PLC0415

        order_file.write_order(output, order)


def _explain(format_name: str, output: str, order: Order) -> None:
    """Print the command that makes the launcher keep the order, as several ways do not."""
    from plink.deploy import launchers  # noqa: PLC0415

    name = "FILE" if output == document.STANDARD_STREAM else shlex.quote(output)
    usage = launchers.usage_of(format_name, name, order.ranks)
    click.echo(printable(f"{name}: {usage}"), err=True)
    caveat = launchers.find_caveat(format_name)
    if caveat is not None:
        note(caveat)
    if any(host.user or host.port or host.ssh_address for host in order.hosts):
        note("the file holds names only; put users and ports into the SSH configuration")


def _warn(order: Order, unreachable: Sequence[Failure]) -> int:
    """Print warnings about the order; return the exit code."""
    is_interrupted = order.solver.ended_by == "interrupt"
    for failure in unreachable:
        warn(f"{failure.source} was unreachable and gets no rank")
    if is_interrupted:
        warn(
            "interrupted: this is the best order so far; whether its gain is noise was not checked"
        )
    if order.unmeasured_hosts:
        warn(
            f"no measurement reaches {format_names(order.unmeasured_hosts)}",
            "the rank of such a host is arbitrary; probe it again, or leave it out",
        )
    return EXIT_PARTIAL if unreachable or is_interrupted or order.unmeasured_hosts else 0


def _show_on(update: Callable[[str], None]) -> Callable[[SearchProgress], None]:
    def show(progress: SearchProgress) -> None:
        cost, bound = progress.cost, progress.lower_bound
        gap = f", gap {share_text(max(0.0, cost - bound) / cost)}" if bound and cost else ""
        update(f"{progress.seconds:.1f} s  best {rtt_text(cost)}{gap}")

    return show
