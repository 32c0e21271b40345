"""`plink verify`: check whether a launcher keeps an order."""

from __future__ import annotations

import shlex
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import format_count, format_names, printable
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange, SectionedCommand
from plink.cli.way_options import with_reach_options

with lazy_imports():
    from rich import console as rich_console
    from rich import table as rich_table
    from rich import text as rich_text

    from plink.deploy import nccl_order as deploy_nccl_order
    from plink.deploy import verify
    from plink.deploy.remote import remote_shell
    from plink.formats import document
    from plink.formats import order as order_file
    from plink.measure import listed
    from plink.show.terminal import paper

if TYPE_CHECKING:
    from rich.console import RenderableType

    from plink.deploy.verify import PlacedRank
    from plink.formats.hosts import Host


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
@with_reach_options
@click.option("--json", "as_json", is_flag=True, help="Print every rank as JSON.")
def command(**values: Any) -> int:
    """Run a launcher on an order, and compare where every rank is with where it should be.

    The launcher gets the file that plink order writes for it, and a program that reports its rank,
    host and addresses. The exit code is 0 where the order was kept, 4 where it was not. A
    command after -- is run in place of plink's own, with FILE, RANKS and PROGRAM in it.

    With --launcher nccl --log, the rings and trees that NCCL has logged are compared instead.
    """
    way = values["reach"].resolve()
    if values["logs"]:
        return _verify_logs(values)
    order, source = order_file.read_order(values["order"]), document.label(values["order"])
    trial = _trial(values)
    with tempfile.TemporaryDirectory(prefix="plink-verify-") as name:
        folder = Path(name)
        # The launcher finds this `ssh` first, which reaches the hosts as plink does.
        remote_shell.write_remote_shell(
            folder, order.hosts, listed.apply_recorded_way(way, order.way, source)
        )
        reports = verify.run_trial(trial, order.runs, folder)
    is_renumbered = trial.launcher == verify.RENUMBERED
    ranks = verify.compare(
        verify.fit_to_job(order.runs, reports) if is_renumbered else order.runs, reports
    )
    is_kept = all(rank.is_kept for rank in ranks)
    cause = None if is_kept else verify.explain_misplacement(ranks, _local(order.hosts))
    if values["as_json"]:
        print_json_line(verify.LaunchVerdict(trial.launcher, trial.command, is_kept, cause, ranks))
    else:
        paper.paper(None).console.print(_comparison(trial.launcher, ranks, cause))
    return 0 if is_kept else EXIT_CHANGED


def _trial(values: dict[str, Any]) -> verify.Trial:
    """Return the trial run of a launcher that the options request.

    Raises:
        WrongUseError: a launcher that cannot be run, or options that exclude each other.
    """
    if values["words"] and values["program"] is not None:
        raise WrongUseError("--program and a command of your own exclude each other")
    is_renumbered = values["words"] and values["launcher"] == verify.RENUMBERED
    line = "" if is_renumbered else verify.default_command(values["launcher"], values["program"])
    if values["words"]:
        line = _quote_command(values["words"])
    if values["python"] is not None and verify.RANK_VARIABLES[values["launcher"]] != "RANK":
        raise WrongUseError(
            f"--python does not apply to {values['launcher']}", "see plink verify -h"
        )
    return verify.Trial(values["launcher"], line, values["python"], values["timeout_s"])


def _quote_command(words: Sequence[str]) -> str:
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
    """Return one line if the launcher kept the order, else a table of misplaced ranks."""
    moved = [rank for rank in ranks if not rank.is_kept]
    hosts = len({rank.expected for rank in ranks})
    if not moved:
        return rich_text.Text(f"{launcher} keeps the order: {len(ranks)} ranks on {hosts} hosts")
    table = rich_table.Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("rank", justify="right")
    table.add_column("order")
    table.add_column("launcher")
    for rank in moved[:_MAX_ROWS]:
        table.add_row(str(rank.rank), printable(rank.expected), printable(rank.found))
    parts: list[RenderableType] = [
        rich_text.Text(
            f"{launcher} does not keep the order: {len(moved)} of {len(ranks)} ranks moved"
        ),
        table,
    ]
    if len(moved) > _MAX_ROWS:
        parts.append(rich_text.Text(f"and {len(moved) - _MAX_ROWS} more; --json prints all"))
    parts.append(rich_text.Text(printable(f"why: {cause or 'no known reason'}")))
    return rich_console.Group(*parts)


_LAUNCHER = "nccl"
_MOST_HOSTS = 20


def _verify_logs(values: Mapping[str, Any]) -> int:
    """Compare NCCL logs with an order, as the options say; return the exit code.

    Raises:
        WrongUseError: options that do not go together, or files that do not hold such a job.
        PlinkError: the logs lack ranks.
    """
    if values["launcher"] != _LAUNCHER:
        raise WrongUseError(f"--log applies to --launcher {_LAUNCHER}, not to {values['launcher']}")
    if values["words"] or values["program"] or values["python"]:
        raise WrongUseError("--log excludes --program, --python and a command: no job is started")
    order = order_file.read_order(values["order"])
    labels = [document.label(path) for path in values["logs"]]
    texts = [document.read_bytes(path).decode(errors="replace") for path in values["logs"]]
    found = deploy_nccl_order.compare_nccl_order(order.runs, "\n".join(texts), format_names(labels))
    if values["as_json"]:
        print_json_line(found)
    else:
        _print_rings(found)
    return 0 if found.kept else EXIT_CHANGED


def _print_rings(found: deploy_nccl_order.NcclVerdict) -> None:
    library = found.library
    version = f"{library} {found.version}" if found.version else library
    hosts = len({rank.found for rank in found.ranks})
    verdict = "follows" if found.kept else "does not follow"
    where = f"{format_count(len(found.ranks), 'rank')} on {format_count(hosts, 'host')}"
    lines = [f"{version} {verdict} the order: {where}, {format_count(len(found.rings), 'ring')}"]
    moved = [rank for rank in found.ranks if not rank.is_kept]
    if moved:
        first = moved[0]
        lines.append(
            f"{format_count(len(moved), 'rank')} elsewhere, the first: rank {first.rank} is on "
            f"{first.found}, in the order on {first.expected}"
        )
    other = [ring for ring in found.rings if not ring.is_kept]
    if other:
        rings = f"{len(other)} of {format_count(len(found.rings), 'ring')}"
        lines.append(f"another way than the order: {rings}; ring {_ring_path(other[0])}")
        if found.ways > 1:
            lines.append(
                f"rings go through the hosts in {found.ways} ways: no order decides those that the "
                "library makes itself, as RCCL does on gfx1151"
            )
    else:
        lines.append(f"ring {_ring_path(found.rings[0])}")
    if found.trees:
        lines.append(_trees(found))
    if found.networks:
        lines.append(f"between hosts: {', '.join(sorted(found.networks))}")
    for line in lines:
        click.echo(printable(line))


def _ring_path(ring: deploy_nccl_order.Ring) -> str:
    shown = " ".join(ring.hosts[:_MOST_HOSTS])
    more = "" if ring.is_whole and len(ring.hosts) <= _MOST_HOSTS else " ..."
    return f"{ring.channel:02d} goes {shown}{more}"


def _trees(found: deploy_nccl_order.NcclVerdict) -> str:
    if not found.other_trees:
        return f"trees: all {found.trees} join hosts as plink order --algo nccl-tree expects"
    return (
        f"trees: {len(found.other_trees)} of {found.trees} join other hosts than "
        "plink order --algo nccl-tree expects"
    )
