"""`plink fit`: measure a communication library's software costs, for the cluster file."""

from __future__ import annotations

import click

from plink.base.lazy import lazy_imports
from plink.bench.comparison_request import CostRequest
from plink.cli.json_output import check_output, json_option, print_json_line
from plink.cli.options import SectionedCommand
from plink.cli.progress import stage_progress
from plink.cli.request_options import with_request
from plink.cli.way_options import ReachOptions, with_reach_options

with lazy_imports():
    from plink.bench import fit
    from plink.formats import cluster, document, outputs
    from plink.show.terminal import paper, predictions


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink fit cluster.json --client openmpi && plink predict cluster.json "
    "--size 20MB --algo openmpi-rabenseifner",
)
@click.argument("cluster_name", metavar="CLUSTER")
@with_request(CostRequest)
@with_reach_options
@click.option("-o", "--output", metavar="FILE", help="Cluster file to write (default: CLUSTER).")
@json_option("Print the fitted costs as JSON.")
def command(
    *,
    request: CostRequest,
    cluster_name: str,
    reach: ReachOptions,
    output: str | None,
    as_json: bool,
) -> int:
    """Run a client (MPI, Gloo, ...) on a few hosts of CLUSTER, and record its software costs.

    With that, plink predict tells times with an interval. The client runs over SSH as in plink
    bench, for a few seconds, in a few sizes, on two hosts, on a few, and across two groups. The
    file must say what links carry.
    """
    written = cluster_name if output is None else output
    check_output(written, "the cluster", as_json=as_json, has_matrices=True)
    known, source = cluster.read_cluster(cluster_name), document.label(cluster_name)
    with stage_progress() as progress:
        found = fit.fit(request, known, source, reach.resolve(), progress)
    cluster.write_cluster(written, found)
    fitted = next(each for each in found.clients if each.client == request.client)
    if as_json:
        print_json_line(outputs.FitOutput(written, fitted))
    elif written != document.STANDARD_STREAM:
        predictions.print_fit(paper.paper(None).console, fitted)
    return 0
