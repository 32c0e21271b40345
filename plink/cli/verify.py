"""`plink verify`: check by a trial run, or NCCL's logs, whether a launcher keeps an order."""

from __future__ import annotations

import shlex
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.text import format_count, format_names, printable
from plink.cli.json_output import json_option, print_json_line
from plink.cli.options import SectionedCommand
from plink.cli.request_options import with_request
from plink.cli.way_options import ReachOptions, with_reach_options

with lazy_imports():
    from plink.deploy import nccl_order as deploy_nccl_order
    from plink.deploy import verify
    from plink.deploy.remote import remote_shell
    from plink.formats import document
    from plink.formats import order as order_file
    from plink.measure import listed
    from plink.show import tables
    from plink.show.terminal import paper


# More ranks that moved are only counted.
_MAX_ROWS = 40


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Options of `plink verify` on the launcher that is run, or on the logs of a job."""

    launcher: str = option(
        "",
        is_required=True,
        metavar="NAME",
        help="Format of plink order whose launcher is run: openmpi, mpich, slurm, torchrun, ...; "
        "or renumber, for a command of your own with plink renumber in it.",
    )
    program: str | None = option(
        None, metavar="PATH", help="Path of the launcher (default: the one on PATH)."
    )
    python: str | None = option(
        None, metavar="PATH", help="torchrun: Python interpreter with PyTorch on the hosts."
    )
    logs: tuple[str, ...] = option(
        (),
        "--log",
        kind="texts",
        metavar="FILE",
        help="nccl: output of a job's ranks with NCCL_DEBUG=INFO, instead of running a job; may "
        "be repeated.",
    )
    timeout_s: float = option(
        120.0, "--timeout", low=1, high=86_400, help="Time limit of the launcher, in seconds."
    )

    def build_trial(self, words: Sequence[str]) -> verify.Trial:
        """Build the request for a trial run of the launcher; `words` are the user's own command."""
        if words and self.program is not None:
            raise WrongUseError("--program and a command of your own exclude each other")
        if not (words and self.launcher == verify.RENUMBERED):
            line = verify.default_command(self.launcher, self.program)
        if words:
            # A single word is a shell line already.
            line = words[0] if len(words) == 1 else shlex.join(words)
        if self.python is not None and verify.RANK_VARIABLES[self.launcher] != "RANK":
            raise WrongUseError(
                f"--python does not apply to {self.launcher}",
                "it names the interpreter that torchrun and its like start on the hosts",
            )
        return verify.Trial(self.launcher, line, self.python, self.timeout_s)


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink verify order.json --launcher openmpi, or, with a command of one's own: "
    "plink verify order.json --launcher openmpi -- mpirun -np RANKS --hostfile FILE PROGRAM",
)
@click.argument("order")
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]")
@with_request(VerifyRequest)
@with_reach_options
@json_option("Print every rank as JSON.")
def command(
    order: str, *, words: Sequence[str], request: VerifyRequest, reach: ReachOptions, as_json: bool
) -> int:
    """Run a launcher on an order, and compare where every rank is with where it should be.

    The launcher gets the file that plink order writes for it, and a program that reports its rank,
    host and addresses. The exit code is 0 where the order was kept, 4 where it was not. A
    command after -- is run in place of plink's own, with FILE, RANKS and PROGRAM in it.

    With --launcher nccl --log, the rings and trees that NCCL has logged are compared instead.
    """
    way = reach.resolve()
    if request.logs:
        return _verify_logs(order, words, request, as_json=as_json)
    known, source = order_file.read_order(order), document.label(order)
    trial = request.build_trial(words)
    with tempfile.TemporaryDirectory(prefix="plink-verify-") as name:
        folder = Path(name)
        # The launcher finds this `ssh` first, which reaches the hosts as plink does.
        remote_shell.write_remote_shell(
            folder, known.hosts, listed.apply_recorded_way(way, known.way, source)
        )
        reports = verify.run_trial(trial, known.runs, folder)
    runs = known.runs
    if trial.launcher == verify.RENUMBERED:
        runs = verify.fit_to_job(runs, reports)
    ranks = verify.compare(runs, reports)
    moved = [rank for rank in ranks if not rank.is_kept]
    own = socket.gethostname()
    local = next((name for name in (own, own.partition(".")[0]) if name in known.names), None)
    cause = verify.explain_misplacement(ranks, local) if moved else None
    if as_json:
        print_json_line(
            verify.LaunchVerdict(trial.launcher, trial.command, not moved, cause, ranks)
        )
    else:
        _print_ranks(trial.launcher, ranks, moved, cause)
    return EXIT_CHANGED if moved else 0


def _print_ranks(
    launcher: str,
    ranks: Sequence[verify.PlacedRank],
    moved: Sequence[verify.PlacedRank],
    cause: str | None,
) -> None:
    """Print that the launcher kept the order, or else a table of misplaced ranks."""
    console = paper.paper(None).console
    if not moved:
        hosts = len({rank.expected for rank in ranks})
        console.print(f"{launcher} keeps the order: {len(ranks)} ranks on {hosts} hosts")
        return
    console.print(f"{launcher} does not keep the order: {len(moved)} of {len(ranks)} ranks moved")
    columns: list[tables.Column[verify.PlacedRank]] = [
        tables.Column("rank", lambda rank: str(rank.rank)),
        tables.Column("order", lambda rank: printable(rank.expected), is_text=True),
        tables.Column("launcher", lambda rank: printable(rank.found), is_text=True),
    ]
    paper.print_table(console, columns, moved[:_MAX_ROWS])
    if len(moved) > _MAX_ROWS:
        console.print(f"and {len(moved) - _MAX_ROWS} more; --json prints all")
    console.print(printable(f"why: {cause or 'no known reason'}"))


_LAUNCHER = "nccl"
_MOST_HOSTS = 20


def _verify_logs(order: str, words: Sequence[str], request: VerifyRequest, *, as_json: bool) -> int:
    """Compare the ranks' hosts and the rings in NCCL's logs with an order; return the exit code."""
    if request.launcher != _LAUNCHER:
        raise WrongUseError(f"--log applies to --launcher {_LAUNCHER}, not to {request.launcher}")
    if words or request.program or request.python:
        raise WrongUseError("--log excludes --program, --python and a command: no job is started")
    runs = order_file.read_order(order).runs
    labels = [document.label(path) for path in request.logs]
    texts = [document.read_bytes(path).decode(errors="replace") for path in request.logs]
    found = deploy_nccl_order.compare_nccl_order(runs, "\n".join(texts), format_names(labels))
    if as_json:
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
    ring = (other or found.rings)[0]
    shown = " ".join(ring.hosts[:_MOST_HOSTS])
    more = "" if ring.is_whole and len(ring.hosts) <= _MOST_HOSTS else " ..."
    path = f"ring {ring.channel:02d} goes {shown}{more}"
    if other:
        rings = f"{len(other)} of {format_count(len(found.rings), 'ring')}"
        path = f"another way than the order: {rings}; {path}"
    lines.append(path)
    if other and found.distinct_rings > 1:
        lines.append(
            f"rings go through the hosts in {found.distinct_rings} ways: no order decides those "
            "that the library makes itself, as RCCL does on gfx1151"
        )
    if found.trees:
        which = f"all {found.trees} join"
        than = "as"
        if found.other_trees:
            which = f"{len(found.other_trees)} of {found.trees} join other"
            than = "than"
        lines.append(f"trees: {which} hosts {than} plink order --algo nccl-tree expects")
    if found.networks:
        lines.append(f"between hosts: {', '.join(sorted(found.networks))}")
    for line in lines:
        click.echo(printable(line))
