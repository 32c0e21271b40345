"""`plink bench`: run real clients and compare (action in `bench_action`)."""

from __future__ import annotations

from typing import Any

import click

from plink.base.size import DEFAULT_SIZE
from plink.cli.client_options import with_mpi_options, with_timeout_option
from plink.cli.collectives_option import CollectivesType
from plink.cli.options import (
    SectionedCommand,
    with_seed_option,
    with_time_limit_option,
)
from plink.cli.progress import StageProgress
from plink.cli.way_options import with_way_options
from plink.plans.names import ALL_REDUCE, COLLECTIVES


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
    from plink.cli.bench_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    return run_command(options, StageProgress())
