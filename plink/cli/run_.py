"""`plink run`: start a job over SSH in an order. What it does is in `run_action`."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.sections import SectionedCommand
from plink.cli.ssh_options import with_ssh_options


@click.command(
    cls=SectionedCommand,
    context_settings={"ignore_unknown_options": False},
    epilog="Example: plink run order.json --nproc-per-host 8 -- python train.py --epochs 3",
)
@click.argument("order")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@click.option(
    "--nproc-per-host",
    "slots",
    type=click.IntRange(1, 1024),
    help="Processes on every host (default: the order's slots).",
)
@click.option(
    "--master-port",
    type=click.IntRange(1, 65535),
    default=29500,
    show_default=True,
    help="Where rank 0 listens.",
)
@click.option(
    "--env", "variables", metavar="NAME=VALUE", multiple=True, help="Add to every environment."
)
@click.option(
    "--cwd", "folder", metavar="DIR", help="Folder on the hosts (default: this one, if there)."
)
@with_ssh_options
def command(**options: Any) -> int:
    """Start a torch job on the hosts of an order, a process a rank, and wait for it.

    Every process finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and
    the measured network interface in its environment. Output comes with the rank in front. When one
    fails, or with Ctrl-C, all are ended; the exit code is the job's.
    """
    from plink.cli.run_action import run_command  # noqa: PLC0415  imports numpy and paramiko

    return run_command(options)
