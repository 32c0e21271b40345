"""`plink bench`: run real clients (engine, Gloo, MPI, ...) in several orders and compare."""

from __future__ import annotations

import click

from plink.base.errors import PartialResultError
from plink.base.lazy import lazy_imports
from plink.bench.comparison_request import ComparisonRequest
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.options import SectionedCommand
from plink.cli.progress import stage_progress
from plink.cli.request_options import with_request
from plink.cli.way_options import ReachOptions, with_reach_options

with lazy_imports():
    from plink.bench import bench as client_bench
    from plink.bench import plot as bench_plot
    from plink.bench import preparation
    from plink.formats import cluster as cluster_file
    from plink.formats import document, structs
    from plink.show.terminal import comparison
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
    "--plot",
    metavar="FILE.svg",
    help="File for a plot of predicted against measured times; for several clients or sizes, "
    "of times against sizes.",
)
@with_request(ComparisonRequest)
@with_reach_options
@click.option("-o", "--output", metavar="FILE", help="JSON file to write all results to.")
@json_option("Print all results as JSON.")
def command(
    *,
    request: ComparisonRequest,
    file: str,
    plot: str | None,
    output: str | None,
    as_json: bool,
    reach: ReachOptions,
) -> int:
    """Run a real client (MPI, Gloo, ...) in several orders, or several clients, and compare.

    Starts one rank a host over SSH, or as many as --slots says, checks every result, and compares
    the times with what the cluster file predicts. Ctrl-C prints what was measured so far.
    """
    for path in (output, plot):
        check_output(path, "the results", file, *request.plan_files, *request.order_files)
    preparation.check_clients(request)
    cluster = cluster_file.read_cluster(file)
    with stage_progress() as progress:
        prepared = preparation.prepare_bench(
            request, cluster, document.label(file), reach.resolve(), progress
        )
        done = client_bench.bench(prepared, progress)
    result, orders = done.result, done.orders
    shown = result if orders is None else orders
    if output is not None:
        document.write_bytes(output, document.dump(structs.encode(shown)))
    if plot is not None:
        document.write_bytes(plot, bench_plot.plot(result, orders).encode())
    if output != document.STANDARD_STREAM:
        if as_json:
            print_json_line(shown)
        else:
            comparison.print_comparison(paper_page.paper(None).console, result, orders)
    if done.stopped is not None:
        raise PartialResultError(
            f"not all repetitions of the bench ran: {done.stopped}", done.stopped.hint
        )
    return 0
