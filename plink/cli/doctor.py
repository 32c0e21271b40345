"""`plink doctor`: explain in words what slows a cluster down."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.listen_options import with_listen_options
from plink.cli.options import FiniteRange, SectionedCommand, options_of
from plink.cli.progress import StageProgress
from plink.cli.way_options import with_way_options

_live = options_of("Asking hosts")
_TRANSFERS_S = 60.0


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink doctor cluster.json --live --before healthy.json",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--before",
    metavar="FILE",
    help="Earlier file of the same hosts or job, from a time without problems, of the same "
    "kind as a given file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@_live(
    "--live",
    is_flag=True,
    help="Ask the hosts of the cluster file for MTU, congestion control, rates of NICs, counters, "
    "clocks and load, and measure round trips, hosts' links and groups' uplinks anew.",
)
@_live(
    "-o",
    "--output",
    metavar="FILE",
    help="With --live: write the cluster with the new measurements to this file.",
)
@_live(
    "--transfers",
    "transfers_s",
    type=FiniteRange(0, 3600),
    metavar="SECONDS",
    default=_TRANSFERS_S,
    show_default=True,
    help="Seconds after which no further iperf3 transfer begins; 0 for no transfers.",
)
@_live(
    "--timeout",
    "timeout_s",
    type=FiniteRange(0.05, 600),
    default=2.0,
    show_default=True,
    help="Seconds without an answer after which a host is given up.",
)
@with_way_options
@with_listen_options
@click.pass_context
def command(context: click.Context, /, **options: Any) -> int:
    """Find what slows a cluster or a job down: where, by what evidence, how surely, what to try.

    A FILE is a cluster file, a log of autotune's, a log of nccl-tests, or a comparison that plink
    bench wrote; at most one of each kind. The exit code is 0 where nothing is wrong, 4 where
    something is, 3 where nothing is as far as hosts could be asked.
    """
    from plink.cli.doctor_action import run_command  # noqa: PLC0415  imports numpy and paramiko
    from plink.cli.options import given_options  # noqa: PLC0415  as above

    with StageProgress() as progress:
        return run_command(options, given_options(context), progress)
