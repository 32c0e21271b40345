"""Verification that a launcher places ranks as an order says, by a trial run that reports hosts.

The launcher gets the file that plink writes for it, as the format's usage line says, and a program
that reports which rank it is and on which machine.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.base.errors import PlinkError, WrongUseError
from plink.base.replacing import replace
from plink.base.text import format_names
from plink.deploy.launchers import FORMATS, render
from plink.deploy.launchers.format import fill_usage, places
from plink.deploy.remote.launcher import LauncherExit, run_launcher
from plink.formats.hosts import Host
from plink.formats.limits import Text, Whole
from plink.formats.structs import Output
from plink.probes.hosts.address import is_address

# The environment variable in which each launcher tells a rank its number.
RANK_VARIABLES = {
    **dict.fromkeys(["openmpi", "openmpi-rankfile", "openmpi5-rankfile"], "OMPI_COMM_WORLD_RANK"),
    **dict.fromkeys(["mpich", "intelmpi"], "PMI_RANK"),
    "slurm": "SLURM_PROCID",
    **dict.fromkeys(["torchrun", "torchrun-script", "deepspeed"], "RANK"),
    **dict.fromkeys(["env", "nccl"], "RANK"),
    "horovod": "HOROVOD_RANK",
    "jax": "JAX_PROCESS_ID",
    "mlx": "MLX_RANK",
    # Not a launcher: `plink renumber` in a job that one starts, and no file is written for it.
    "renumber": "PLINK_RANK",
}
RENUMBERED = "renumber"
# How a launcher of Python scripts is told that the program is not one.
_NOT_PYTHON = {
    **dict.fromkeys(["torchrun", "torchrun-script"], ("--no-python",)),
    # Without the second it puts --local_rank in front of the program's own words.
    "deepspeed": ("--no_python", "--no_local_rank"),
}
# pdsh, by which DeepSpeed starts ranks, hands words to one more shell than the others do.
_THROUGH_A_SHELL = ("deepspeed",)
# Debian's names come first: its `mpirun` may be the other MPI's.
_PROGRAMS = {"mpirun": ["mpirun.openmpi", "mpirun"], "mpiexec": ["mpiexec.hydra", "mpiexec"]}
_MOST_CHARACTERS = 300
# Lines that come before an error and say nothing of it: rules, and ssh's and Open MPI's warnings.
_NO_REASON = re.compile(r"\W*$|warning\b|.*\bsetpgid\b", re.IGNORECASE)
# Let root run Open MPI.
_FOR_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
_QUOTED = "$PLINK_PROGRAM"
_MARK = "plink-placed"
# More than a machine with very many addresses needs; the rest of a longer line is ignored.
_MAX_LINE = 1 << 16


@dataclass(frozen=True)
class Trial:
    """Request for a trial run of a launcher: its format, command, Python and time limit.

    Args:
        launcher: the name of its format.
        command: a shell command with FILE, RANKS and PROGRAM or SCRIPT in it.
        python: runs torchrun on the hosts in place of the `torchrun` that their PATH has.
        timeout_s: how long it may take.
    """

    launcher: str
    command: str
    python: str | None
    timeout_s: float


@dataclass(frozen=True)
class RankReport:
    """Report of a rank in a trial run: its number, its machine's own name and addresses."""

    rank: int
    hostname: str
    addresses: Sequence[str]


class PlacedRank(Output, frozen=True):
    """Rank with the host it ran on, and the host where the order places it.

    Attributes:
        rank: number of the rank
        expected: host that the order has
        found: host that it was on; the machine's own name if the order has no such host
    """

    rank: Whole
    expected: Text
    found: Text

    @property
    def is_kept(self) -> bool:
        """Whether the rank ran on the host where the order places it."""
        return self.expected == self.found


class LaunchVerdict(Output, frozen=True):
    """Result of a launcher's trial run: the host that each rank ran on, and the expected one.

    Attributes:
        launcher: format of the launcher
        command: command that was run
        kept: whether every rank was where the order has it
        reason: why not; null if that is not known
        ranks: ranks in their order
    """

    launcher: Text
    command: Text
    kept: bool
    reason: Text | None
    ranks: Sequence[PlacedRank]


def default_command(launcher: str, path: str | None) -> str:
    """Return the shell command that runs a launcher, from its format's usage line.

    Raises:
        WrongUseError: plink cannot run the launcher of this format, or not by `path`.
    """
    if launcher not in RANK_VARIABLES:
        raise WrongUseError(
            f"plink verify cannot run the launcher {launcher!r}",
            f"it runs {', '.join(RANK_VARIABLES)}",
        )
    if launcher == RENUMBERED:
        raise WrongUseError(
            "verifying a job with renumbered ranks needs the command that starts it",
            "give the job's own command: -- 'srun plink renumber --order ORDER -- PROGRAM'",
        )
    usage = FORMATS[launcher].usage
    first, _, rest = usage.partition(" ")
    if path is not None:
        if first in ("while", "sh") or "=" in first:
            raise WrongUseError(
                f"{{program}} names a launcher's program, but {launcher} is started by a shell",
                "leave out {program=}, or give the whole command after --",
                arguments={"program": path},
            )
        return f"{shlex.quote(path)} {rest}"
    if launcher == "intelmpi":
        return usage
    known = [name for name in _PROGRAMS.get(first, []) if shutil.which(name) is not None]
    return f"{known[0]} {rest}" if known and launcher != "openmpi5-rankfile" else usage


def run_trial(trial: Trial, hosts: Sequence[Host], folder: Path) -> list[RankReport]:
    """Run a launcher with a program that prints its rank and host; return the ranks' reports.

    Args:
        trial: what to run.
        hosts: in rank order.
        folder: for the launcher's file; programs in it come before those of PATH.

    Raises:
        WrongUseError: the launcher's file cannot hold the hosts.
        PlinkError: the launcher failed, or took too long.
    """
    file = folder / "order"
    text = "" if trial.launcher == RENUMBERED else render(trial.launcher, hosts, ())
    if trial.launcher in ("torchrun", "torchrun-script"):
        text = _adapt_torchrun(text, trial)
    file.write_text(text)
    words = program_words(trial.launcher)
    command = fill_command(trial.command, str(file), sum(host.slots for host in hosts), words)
    environment = {
        "PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}",
        _QUOTED.removeprefix("$"): shlex.join(words),
    }
    if os.geteuid() == 0:
        environment |= dict.fromkeys(_FOR_ROOT, "1")
    ended = run_launcher(["sh", "-c", command], trial.timeout_s, environment)
    if ended is None:
        raise PlinkError(
            f"the launcher did not end within {trial.timeout_s:g} s",
            "allow it more time, or check that it reaches all hosts",
        )
    reports = parse_reports(ended.stdout)
    if ended.status != 0 or not reports:
        raise _failure(ended)
    return reports


def _adapt_torchrun(text: str, trial: Trial) -> str:
    """Let the trial's interpreter run torchrun; remove the folder that torchrun makes for logs."""
    begin = "torchrun --rdzv-backend=static"
    program = "torchrun"
    if trial.python is not None:
        program = f"{shlex.quote(trial.python)} -m torch.distributed.run"
    line = f'd=$(mktemp -d) && {program} --log-dir="$d" "$@"; s=$?; rm -rf "$d"; exit $s'
    adapted = begin.replace("torchrun", f"sh -c {shlex.quote(line)} torchrun")
    if trial.launcher == "torchrun-script":
        # There the command stands between single quotes.
        adapted = adapted.replace("'", "'\\''")
    return text.replace(begin, adapted)


def program_words(launcher: str) -> list[str]:
    """Return the words of a program that prints a mark, its rank, host name and addresses."""
    addresses = "$(hostname -I 2>/dev/null || ip -o addr show 2>/dev/null)"
    rank = f"${{{RANK_VARIABLES[launcher]}:-?}}"
    words = ["sh", "-c", f'echo {_MARK} "{rank}" "$(uname -n)" {addresses}']
    if launcher in _THROUGH_A_SHELL:
        words = [word.replace("$", r"\$") for word in words]
    return [*_NOT_PYTHON.get(launcher, ()), *words]


def fill_command(command: str, file: str, ranks: int, words: Sequence[str]) -> str:
    """Return a command with PROGRAM, RANKS and FILE replaced; the program is `words`."""
    command = command.replace("python SCRIPT", "SCRIPT").replace("SCRIPT", "PROGRAM")
    before, blank, _ = command.partition("PROGRAM")
    if not blank:
        raise WrongUseError(
            "the command does not contain the word PROGRAM", "see plink verify --help"
        )
    # Between double quotes another shell takes the words apart, which the variable leaves to it.
    is_quoted = before.count('"') % 2 == 1
    words_there = _QUOTED if is_quoted else shlex.join(words)
    return fill_usage(
        command, {"PROGRAM": words_there, "RANKS": str(ranks), "FILE": shlex.quote(file)}
    )


def parse_reports(output: str) -> list[RankReport]:
    """Parse the reports that ranks printed in a trial run, ignoring other output."""
    reports = []
    for line in output.splitlines():
        # Launchers may put something in front of what a rank prints.
        words = line[:_MAX_LINE].partition(_MARK)[2].split()
        if len(words) >= 2 and words[0].isascii() and words[0].isdigit() and len(words[0]) <= 9:
            addresses = [word.partition("/")[0] for word in words[2:]]
            known = [address for address in addresses if is_address(address)]
            reports.append(RankReport(int(words[0]), words[1], known))
    return reports


def fit_to_job(hosts: Sequence[Host], reports: Sequence[RankReport]) -> list[Host]:
    """Return the order's hosts that have ranks in a running job, with as many slots as ranks there.

    Hosts whose ranks the order has apart stay as they are.

    Args:
        hosts: in rank order.
        reports: reports of the job's ranks.
    """
    if len({host.name for host in hosts}) < len(hosts):
        return list(hosts)
    ranks = Counter(_find_host(report, hosts) for report in reports)
    return [replace(host, slots=ranks[host.name]) for host in hosts if ranks[host.name]]


def compare(hosts: Sequence[Host], reports: Sequence[RankReport]) -> list[PlacedRank]:
    """Return each rank's expected host and the host it ran on; raise if one did not report.

    Raises:
        PlinkError: a rank did not report, or there are ranks that the order does not have.
    """
    expected = [place.host.name for place in places(hosts)]
    found: dict[int, str] = {}
    for report in reports:
        if report.rank in found:
            raise PlinkError(
                f"two processes report that they are rank {report.rank}",
                "the launcher may have started each process alone; check that the file is for "
                "this launcher",
            )
        found[report.rank] = _find_host(report, hosts)
    missing = [rank for rank in range(len(expected)) if rank not in found]
    if missing:
        some = format_names([str(rank) for rank in missing])
        raise PlinkError(
            f"there is no report from rank {some} of {len(expected)} ranks",
            "check that the launcher starts a process for every rank of the order",
        )
    if len(found) > len(expected):
        raise PlinkError(f"{len(found)} ranks were started, but the order has {len(expected)}")
    return [PlacedRank(rank, name, found[rank]) for rank, name in enumerate(expected)]


def explain_misplacement(ranks: Sequence[PlacedRank], local: str | None) -> str | None:
    """Return why ranks may be misplaced, by launchers' known pitfalls; None if unknown.

    Args:
        ranks: some of which are not where the order says.
        local: the host on which the launcher was started, None where the order has no such host.
    """
    expected = [rank.expected for rank in ranks]
    found = [rank.found for rank in ranks]
    if local is not None and found[0] == local != expected[0]:
        return (
            f"{local}, where the launcher was started, came first: to Open MPI a plain host file "
            "is a set of hosts; --map-by seq keeps its order"
        )
    if Counter(expected) != Counter(found):
        return "other hosts took ranks, or more of them: the launcher counts slots in its own way"
    hosts, seen = list(dict.fromkeys(expected)), list(dict.fromkeys(found))
    if seen == hosts:
        return "ranks were dealt out to the hosts in turns, as --map-by node and cyclic do"
    if seen == sorted(hosts):
        return (
            "the hosts came sorted by name, as torchrun's c10d rendezvous does (only "
            "--rdzv-backend=static keeps --node-rank), and Slurm without --distribution=arbitrary"
        )
    return None


def _failure(ended: LauncherExit) -> PlinkError:
    said = ended.stderr.strip() or ended.stdout.strip()
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    reasons = [line for line in lines if not _NO_REASON.match(line)] or lines
    # What follows the first line is mostly what the launcher makes of it.
    reason = reasons[0] if reasons else "no output"
    if len(reason) > _MOST_CHARACTERS:
        reason = f"{reason[:_MOST_CHARACTERS]}..."
    hint = None
    if re.search(r"torchrun: (command )?not found", said):
        hint = "name the interpreter that has PyTorch on the hosts with --python PATH"
    return PlinkError(f"the launcher failed (exit status {ended.status}): {reason}", hint)


def _find_host(report: RankReport, hosts: Sequence[Host]) -> str:
    """Return the order's host that sent a report, by address or name; else the machine's name."""
    for host in hosts:
        if host.address in report.addresses:
            return host.name
    own = report.hostname
    for host in hosts:
        if own in (host.name, host.address) or own.partition(".")[0] == host.name:
            return host.name
    return own
