"""`plink order`: find a better rank order, or write one for a launcher."""

from __future__ import annotations

import shlex
import time

import click

from plink.base.errors import EXIT_PARTIAL, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.text import format_names, printable
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.options import given_options
from plink.cli.progress import status_line
from plink.cli.request_options import with_request
from plink.cli.stderr import console, note, warn
from plink.optimize.orders.request import OrderRequest

with lazy_imports():
    from plink.deploy import launchers
    from plink.formats import cluster as cluster_file
    from plink.formats import document
    from plink.formats import order as order_file
    from plink.optimize.orders import slots
    from plink.show import advice
    from plink.show.terminal import order as order_page
    from plink.show.terminal import paper, predictions
    from plink.simulate import trace_algorithm
    from plink.simulate.traces import files as trace_files
    from plink.solvers import limits
    from plink.verbs import cluster as cluster_verb
    from plink.verbs import common as verb_common
    from plink.verbs import order as order_verb

_LIST = "LIST"
_CHOSEN = "plink.format"


class _CommandWithFormats(click.Command):
    """Command whose `--format NAME --help` describes that launcher's format."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the command, or of the format before `--help`."""
        name = ctx.meta.get(_CHOSEN)
        if name is None:
            super().format_help(ctx, formatter)
            return
        about = _describe_format(name)
        formatter.write_usage(ctx.command_path, f"CLUSTER --format {name} -o FILE")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{about}.")
        with formatter.section("To use the file"):
            # Not wrapped: it is to be copied.
            formatter.write(f"  {launchers.ALL[name].build_usage('FILE', None)}\n")
        caveat = launchers.ALL[name].caveat
        if caveat is not None:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"{caveat}.")


def _describe_format(name: str) -> str:
    """Return what a launcher's file is, in a line, or raise WrongUseError for no launcher."""
    if name not in launchers.ALL:
        raise WrongUseError(
            f"there is no format {name!r}", "plink order --format LIST lists the formats"
        )
    return launchers.ALL[name].about


def _on_format(context: click.Context, _: click.Parameter, name: str | None) -> str | None:
    if name is None or context.resilient_parsing:
        return name
    if name.upper() == _LIST:
        width = max(map(len, launchers.ALL))
        for known, found in launchers.ALL.items():
            click.echo(f"{known:<{width}}  {found.about}")
        context.exit()
    context.meta[_CHOSEN] = name
    return name


def _list_algorithms(context: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        predictions.print_algorithms()
        context.exit()


@click.command(
    cls=_CommandWithFormats,
    epilog="Example: plink order cluster.json --algo ring --format openmpi -o hostfile",
)
@click.argument("file", metavar="CLUSTER")
@click.option(
    "-o", "--output", metavar="FILE", help="File to write: the order, or the launcher's file."
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    is_eager=True,
    callback=_on_format,
    help="Write a launcher's file: openmpi, slurm, torchrun, ...; LIST prints them all, and "
    "--format NAME --help says how to use one.",
)
@click.option(
    "--list-algorithms",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_algorithms,
    help="Print every algorithm with its description.",
)
@with_request(OrderRequest)
@click.option(
    "--trace",
    "trace_name",
    metavar="FILE",
    help="Order ranks for the traffic of a job instead of --algo: a file in GOAL's text "
    "format, or one of Chakra's execution traces NAME.0.et, NAME.1.et, ... (the others beside "
    "it are read, too).",
)
@json_option("Print order and costs as JSON.")
def command(
    *,
    request: OrderRequest,
    file: str,
    output: str | None,
    format_name: str | None,
    trace_name: str | None,
    as_json: bool,
) -> int:
    """Find a better rank order and write the launcher's file.

    Reads a cluster file, or an order file made before (nothing is searched then); `-` is standard
    input or output. Ctrl-C ends the search and keeps the best order so far.
    """
    target = document.STANDARD_STREAM if output is None and format_name is not None else output
    if format_name is not None:
        _describe_format(format_name)
    check_output(target, "the file", file, as_json=as_json)
    order = _find_or_read_order(file, _apply_trace(request, trace_name), format_name)
    if format_name is not None and target is not None:
        document.write_bytes(target, order.render(format_name).encode())
    elif target is not None:
        order.save(target)
    _print(order, file, as_json=as_json, to_stderr=target == document.STANDARD_STREAM)
    for text in order.notes:
        note(text)
    if format_name is not None and output is not None:
        _explain(format_name, output, order)
    for gap in order.gaps:
        warn(gap.text, gap.hint)
    return EXIT_PARTIAL if order.gaps else 0


def _apply_trace(request: OrderRequest, name: str | None) -> OrderRequest:
    """Return the request with the traffic of a `--trace` file, or unchanged without one."""
    if name is None:
        return request
    given = given_options(click.get_current_context())
    for other in ("algorithm", "mesh", "size", "executor"):
        if other in given:
            raise WrongUseError(f"{given[other]} and --trace exclude each other")
    trace = trace_files.read(name)
    for text in trace.notes:
        note(text)
    if request.ranks not in (None, trace.ranks):
        raise WrongUseError(
            f"the trace has {trace.ranks} ranks, not {request.ranks}", "leave out --ranks"
        )
    return replace(
        request,
        custom_algorithm=trace_algorithm.trace_algorithm(trace),
        ranks=trace.ranks,
        size=max(1, int(trace.bytes_sent)),
    )


def _find_or_read_order(
    file: str, request: OrderRequest, format_name: str | None
) -> order_verb.RankOrder:
    """Find an order for a cluster file, or read it from an order file."""
    start_s = time.monotonic()
    find_rank_order = order_verb.find_rank_order  # Loading it counts towards the time limit.
    spent_s = time.monotonic() - start_s
    content = document.read(file)
    if content.format == order_file.FORMAT:
        order = verb_common.copy_as(
            order_verb.RankOrder, order_file.decode_order(content.data, content.source)
        )
        order = order_verb.reuse_order(order, request, content.source)
        _note_unused(request)
        return order
    cluster = verb_common.copy_as(cluster_verb.MeasuredCluster, cluster_file.open_cluster(content))
    if format_name is not None and request.ranks is None and request.mesh is None:
        # What cannot be written in this order cannot in any: it is refused before the search.
        slotted = slots.with_slots(cluster.hosts, request.slots)
        launchers.render(format_name, slotted, cluster.groups)
    deadline = limits.Deadline(request.time_limit_s - spent_s)
    with status_line(lambda now: f"{now.done:.1f} s  {now.stage}") as show:
        return find_rank_order(cluster, replace(request, progress=show), deadline)


def _note_unused(request: OrderRequest) -> None:
    """Print a note on options that have no effect, as the order is read from a file."""
    given = given_options(click.get_current_context())
    of_the_search = {*vars(request), "trace_name"} - {"slots"}
    unused = [option for name, option in given.items() if name in of_the_search]
    if unused:
        verb = "has" if len(unused) == 1 else "have"
        note(f"the order is from a file, so {format_names(unused)} {verb} no effect")


def _print(order: order_verb.RankOrder, file: str, *, as_json: bool, to_stderr: bool) -> None:
    if as_json:
        print_json_line(order.to_json())
        return
    screen = console() if to_stderr else paper.paper(None).console
    order_page.print_order(screen, order)
    if order.limiting is not None:
        source = document.argument(file)
        lines = [each.line for each in advice.advise_leaving_out(order.limiting, order, source)]
        paper.print_facts(screen, [("outliers", lines)] if lines else [])


def _explain(format_name: str, output: str, order: order_verb.RankOrder) -> None:
    """Print the command with which the launcher keeps the order, and what to beware of."""
    name = "FILE" if output == document.STANDARD_STREAM else shlex.quote(output)
    usage = launchers.ALL[format_name].build_usage(name, order.ranks)
    click.echo(printable(f"{name}: {usage}"), err=True)
    caveat = launchers.ALL[format_name].caveat
    if caveat is not None:
        note(caveat)
    if any(host.user or host.port or host.ssh_address for host in order.hosts):
        note("the file holds names only; put users and ports into the SSH configuration")
