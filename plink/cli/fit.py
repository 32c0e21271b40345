"""`plink fit`: measure a client's software costs and add them to the cluster file."""

from __future__ import annotations

from typing import Any

import click

from plink.base.lazy import lazy_imports
from plink.cli.json_output import print_json_line, refuse_json_beside
from plink.cli.options import SectionedCommand, size_option, with_mpi_options, with_timeout_option
from plink.cli.progress import StageProgress
from plink.cli.way_options import take_way, with_way_options

with lazy_imports():
    from plink.bench import fit
    from plink.bench.clients import client as clients_client
    from plink.bench.clients import mpi
    from plink.files import cluster, document, outputs
    from plink.measure import listed
    from plink.show.terminal import paper, predictions


_CLIENTS = ["engine", "gloo", "openmpi", "mpich"]
_SIZES = "64KB,1MB,4MB"


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink fit cluster.json --client openmpi && plink predict cluster.json "
    "--size 20MB --algo openmpi-rabenseifner",
)
@click.argument("cluster_name", metavar="CLUSTER")
@click.option(
    "--client", type=click.Choice(_CLIENTS), required=True, help="Client to fit, as in plink bench."
)
@click.option(
    "--hosts",
    type=click.IntRange(2, 64),
    default=8,
    show_default=True,
    help="Number of hosts to use at most, from two groups.",
)
@click.option(
    "--size",
    metavar="LIST",
    default=_SIZES,
    show_default=True,
    help="Sizes of the buffer, separated by commas.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(2, 1000),
    default=4,
    show_default=True,
    help="Timed repetitions of each size.",
)
@with_timeout_option
@click.option("--python", metavar="PATH", help="Engine, Gloo: the interpreter on the hosts.")
@with_mpi_options
@with_way_options
@click.option("-o", "--output", metavar="FILE", help="Cluster file to write (default: CLUSTER).")
@click.option("--json", "as_json", is_flag=True, help="Print the fitted costs as JSON.")
def command(
    *,
    cluster_name: str,
    client: str,
    hosts: int,
    size: str,
    repetitions: int,
    timeout_s: float,
    output: str | None,
    as_json: bool,
    **others: Any,
) -> int:
    """Run a client for a few seconds on a few hosts of CLUSTER, and record its software costs.

    With that, plink predict tells times with an interval. The client runs over SSH as in plink
    bench, in a few sizes, on two hosts, on a few, and across two groups. The file must say what
    links carry.
    """
    way = take_way(others)
    written = cluster_name if output is None else output
    refuse_json_beside(written, "the cluster", as_json=as_json)
    document.check_writable(written, has_matrices=True)
    sizes = sorted({size_option(word) for word in size.split(",")})
    workloads = [
        clients_client.Workload(4 * max(16, each // 4), 1, repetitions, timeout_s) for each in sizes
    ]
    known, source = cluster.read_cluster(cluster_name), document.label(cluster_name)
    request = fit.FitRequest(
        cluster=known,
        source=source,
        client=client,
        hosts=hosts,
        workloads=workloads,
        way=listed.apply_recorded_way(way, known.way, source),
        python=others["python"],
        tools=mpi.MpiTools(others["mpicc"], others["mpirun"], others["remote_cache"]),
    )
    with StageProgress() as progress:
        found = fit.fit(request, progress)
    cluster.write_cluster(written, found)
    fitted = next(each for each in found.clients if each.client == client)
    if as_json:
        print_json_line(outputs.FitOutput(written, fitted))
    elif written != document.STANDARD_STREAM:
        predictions.print_fit(paper.paper(None).console, fitted)
    return 0
