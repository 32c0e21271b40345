"""`plink verify`: check whether a launcher keeps an order."""

from __future__ import annotations

import shlex
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.base.text import json_text, printable
from plink.cli.options import FiniteRange, SectionedCommand
from plink.cli.way_options import take_way, with_way_options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plink.deploy.verify import PlacedRank, Trial
    from plink.files.hosts import Host

# More ranks that moved are only counted.
_MAX_ROWS = 40


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
    help="Format of plink order whose launcher is run: openmpi, mpich, slurm, torchrun, ...; "
    "or renumber, for a command of your own with plink renumber in it.",
)
@click.option("--program", metavar="PATH", help="Path of the launcher (default: the one on PATH).")
@click.option(
    "--python", metavar="PATH", help="torchrun: Python interpreter with PyTorch on the hosts."
)
@click.option(
    "--log",
    "logs",
    metavar="FILE",
    multiple=True,
    help="nccl: output of a job's ranks with NCCL_DEBUG=INFO, instead of running a job; may be "
    "repeated.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(1, 86_400),
    default=120.0,
    show_default=True,
    help="Time limit of the launcher, in seconds.",
)
@with_way_options
@click.option("--json", "as_json", is_flag=True, help="Print every rank as JSON.")
def command(**values: Any) -> int:
    """Run a launcher on an order, and compare where every rank is with where it should be.

    The launcher gets the file that plink order writes for it, and a program that reports its rank,
    host and addresses. The exit code is 0 where the order was kept, 4 where it was not. A
    command after -- is run in place of plink's own, with FILE, RANKS and PROGRAM in it.

    With --launcher nccl --log, the rings and trees that NCCL has logged are compared instead.
    """
    # numpy and paramiko would slow `--help`.
    from plink.deploy.remote.remote_shell import write_remote_shell  # noqa: PLC0415
    from plink.deploy.verify import (  # noqa: PLC0415
        RENUMBERED,
        compare,
        explain_misplacement,
        fit_to_job,
        run_trial,
    )
    from plink.files import document  # noqa: PLC0415
    from plink.files import order as order_file  # noqa: PLC0415
    from plink.measure.listed import apply_recorded_way  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    way = take_way(values)
    if values["logs"]:
        from plink.cli.verify_logs import verify_logs  # noqa: PLC0415  as above

        return verify_logs(values)
    order, source = order_file.read_order(values["order"]), document.label(values["order"])
    trial = _trial(values)
    with tempfile.TemporaryDirectory(prefix="plink-verify-") as name:
        folder = Path(name)
        # The launcher finds this `ssh` first, which reaches the hosts as plink does.
        write_remote_shell(folder, order.hosts, apply_recorded_way(way, order.way, source))
        reports = run_trial(trial, order.runs, folder)
    is_renumbered = trial.launcher == RENUMBERED
    ranks = compare(fit_to_job(order.runs, reports) if is_renumbered else order.runs, reports)
    is_kept = all(rank.is_kept for rank in ranks)
    cause = None if is_kept else explain_misplacement(ranks, _local(order.hosts))
    if values["as_json"]:
        data = {
            "launcher": trial.launcher,
            "command": trial.command,
            "kept": is_kept,
            "reason": cause,
            "ranks": [vars(rank) for rank in ranks],
        }
        click.echo(json_text(data))
    else:
        paper(None).console.print(_comparison(trial.launcher, ranks, cause))
    return 0 if is_kept else EXIT_CHANGED


def _trial(values: dict[str, Any]) -> Trial:
    """Return the trial run that the options request.

    Raises:
        WrongUseError: a launcher that cannot be run, or options that exclude each other.
    """
    from plink.deploy.verify import (  # noqa: PLC0415
        RANK_VARIABLES,
        RENUMBERED,
        Trial,
        default_command,
    )

    if values["words"] and values["program"] is not None:
        raise WrongUseError("--program and a command of your own exclude each other")
    is_renumbered = values["words"] and values["launcher"] == RENUMBERED
    line = "" if is_renumbered else default_command(values["launcher"], values["program"])
    if values["words"]:
        line = _own(values["words"])
    if values["python"] is not None and RANK_VARIABLES[values["launcher"]] != "RANK":
        raise WrongUseError(
            f"--python does not apply to {values['launcher']}", "see plink verify -h"
        )
    return Trial(values["launcher"], line, values["python"], values["timeout_s"])


def _own(words: Sequence[str]) -> str:
    """Return the user's command as a shell line; a single word is a shell line already."""
    if len(words) == 1:
        return words[0]
    return shlex.join(words)


def _local(hosts: Sequence[Host]) -> str | None:
    """Return the order's host that this machine is, or None."""
    own = socket.gethostname()
    names = {host.name for host in hosts}
    return next((name for name in (own, own.partition(".")[0]) if name in names), None)


def _comparison(launcher: str, ranks: Sequence[PlacedRank], cause: str | None) -> RenderableType:
    """Return one line if the order was kept, else a table of misplaced ranks with the cause."""
    from rich.console import Group  # noqa: PLC0415  as above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    moved = [rank for rank in ranks if not rank.is_kept]
    hosts = len({rank.expected for rank in ranks})
    if not moved:
        return Text(f"{launcher} keeps the order: {len(ranks)} ranks on {hosts} hosts")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("order")
    table.add_column("launcher")
    for rank in moved[:_MAX_ROWS]:
        table.add_row(str(rank.rank), printable(rank.expected), printable(rank.found))
    parts: list[RenderableType] = [
        Text(f"{launcher} does not keep the order: {len(moved)} of {len(ranks)} ranks moved"),
        table,
    ]
    if len(moved) > _MAX_ROWS:
        parts.append(Text(f"and {len(moved) - _MAX_ROWS} more; --json prints all"))
    parts.append(Text(printable(f"why: {cause or 'no known reason'}")))
    return Group(*parts)
