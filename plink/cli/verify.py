"""`plink verify`: does a launcher keep an order? What it does is in `verify_action`."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.sections import SectionedCommand
from plink.cli.ssh_options import with_ssh_options
from plink.cli.types import FiniteRange


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink verify order.json --launcher openmpi, or, with a command of one's own: "
    "plink verify order.json --launcher openmpi -- mpirun -np RANKS --hostfile FILE PROGRAM",
)
@click.argument("order")
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]")
@click.option(
    "--launcher",
    metavar="NAME",
    required=True,
    help="A format of plink order, whose launcher is run: openmpi, mpich, slurm, torchrun, ...",
)
@click.option("--program", metavar="PATH", help="The launcher, if not the one on PATH.")
@click.option(
    "--python", metavar="PATH", help="torchrun: the interpreter with PyTorch on the hosts."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(1, 86_400),
    default=120.0,
    show_default=True,
    help="Seconds that the launcher may take.",
)
@with_ssh_options
@click.option("--json", "as_json", is_flag=True, help="Print every rank as JSON.")
def command(**options: Any) -> int:
    """Run a launcher on an order, and compare where every rank is with where it should be.

    The launcher gets the file that plink order writes for it, and a program that reports its rank,
    host and addresses. The exit code is 0 where the order was kept, 4 where it was not. After --
    stands a command instead of plink's own, with FILE, RANKS and PROGRAM in it.
    """
    from plink.cli.verify_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    return run_command(options)
