"""The MPI program: compiled with the client's own wrapper, put on every host, and its output."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from plink.base.errors import PlinkError
from plink.probes.errors import HostError
from plink.probes.remote.session import Session, posix_command
from plink.probes.remote.upload import Program, start_words, upload

_COMPILE_LIMIT_S = 120.0

_PREFIX = "plink-bench "

# What is said of a rank that died, the launchers' own words first: when a rank is lost, its peers
# fail too, and their complaints come from other hosts.
_DEATHS = (
    re.compile(r"process rank \d+ with PID \d+ on node (?P<host>\S+) (?P<reason>exited on .*)"),
    re.compile(r"RUNNING AT (?P<host>\S+)\s*\n=\s*(?P<reason>(?:EXIT CODE|KILLED BY).*)"),
    re.compile(r"\[(?P<host>[^\s:\]]+):\d+:\d+:\d+\] (?P<reason>Caught signal [^:]*)"),
)
_ABORT = re.compile(r"^Abort\(\d+\) on node (?P<rank>\d+) .*", re.MULTILINE)
_STACK = re.compile(r"^[\w ]+\(\d*\)\.*: +(?P<reason>\S.*)", re.MULTILINE)
_SIGALRM = re.compile(r"signal 14\b|EXIT CODE: 14\b|Alarm clock")
_FIRST_RANK = re.compile(rf"^{_PREFIX}rank 0 ", re.MULTILINE)
_NOISE = re.compile(r"[-=\s*]*$|\[[^\]]*\] (?:\*\*\*|PMIX)|WARNING|Warning:")


@dataclass(frozen=True)
class MpiProgram:
    """An executable for the hosts.

    Args:
        executable: the program.
        folder: where it is put on the hosts; None for the user's cache there.
    """

    executable: Program
    folder: str | None

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Return the command that runs it on a host, if it is what was put there."""
        return start_words(self.executable, self.folder, arguments)


def find_tool(asked: str | None, candidates: Sequence[str], title: str, packages: str) -> str:
    """Return the first of `candidates` that is on PATH here, or the one asked for.

    Raises:
        PlinkError: no such program is here.
    """
    for candidate in [asked] if asked else candidates:
        if shutil.which(candidate):
            return candidate
    looked = asked or " and ".join(candidates)
    raise PlinkError(
        f"{title} is not complete on this machine: no {looked}",
        f"install {packages}, or name the tools with --mpicc PATH and --mpirun PATH",
    )


def compile_program(compiler: str, folder: Path, remote_folder: str | None) -> MpiProgram:
    """Compile the program with an MPI compiler wrapper.

    Args:
        compiler: the wrapper.
        folder: where source and executable may be written here.
        remote_folder: where the program goes on the hosts; None for the user's cache there.

    Raises:
        PlinkError: the compiler refuses.
    """
    source = resources.files("plink.bench.workers").joinpath("mpi_allreduce.c").read_bytes()
    (folder / "mpi_allreduce.c").write_bytes(source)
    command = [compiler, "-O2", "-std=gnu11", "-s", "-o", "mpi_allreduce", "mpi_allreduce.c"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_COMPILE_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlinkError(f"{compiler} cannot be run: {error}") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise PlinkError(f"{compiler} failed: {lines[0] if lines else 'it said nothing'}")
    content = (folder / "mpi_allreduce").read_bytes()
    return MpiProgram(Program("mpi_allreduce", content), remote_folder)


def install(session: Session, program: MpiProgram, helper: str, title: str, packages: str) -> None:
    """Put the program on a host unless it is there, and see that it starts.

    Args:
        session: the host.
        program: what to put there.
        helper: a program that the launcher needs on the host.
        title: the client's name, for errors.
        packages: what to install where the client is missing.

    Raises:
        HostError: the client is not installed there, or the program cannot be stored or started.
    """
    if session.run(posix_command('command -v "$1" > /dev/null', helper)).status != 0:
        raise _not_installed(session.host, title, f"no {helper}", packages)
    try:
        upload(session, program.executable, program.folder)
    except HostError as error:
        if "shared librar" in str(error):
            raise _not_installed(session.host, title, str(error), packages) from None
        raise


@dataclass(frozen=True)
class MpiReport:
    """Report of a launch by its rank 0.

    Args:
        library: the MPI library's own version text.
        hostnames: the host name of each rank, as that host calls itself.
        seconds: the longest time of any rank, per timed repetition.
        cpu_s: CPU seconds of a rank's process, the mean over ranks, per timed repetition.
        reduction_s_per_gb: what adding 10^9 bytes takes; None where the buffer was small.
    """

    library: str
    hostnames: Sequence[str]
    seconds: Sequence[float]
    cpu_s: Sequence[float] = ()
    reduction_s_per_gb: float | None = None


def complete_report(status: int, text: str, repetitions: int) -> MpiReport | None:
    """Return what rank 0 reported; None where the launcher failed before the report was complete.

    A complete report counts whatever the launcher's exit status is: MPICH's ranks end without
    `MPI_Finalize` (`mpi_allreduce.c`), and Hydra calls that a failure if it sees a rank's
    connection close before it sees the rank end.

    Raises:
        PlinkError: the launcher succeeded without a complete report.
    """
    try:
        return parse_report(text, repetitions)
    except PlinkError:
        if status == 0:
            raise
        return None


def parse_report(text: str, repetitions: int) -> MpiReport:
    """Return the launch whose standard output is `text`.

    Raises:
        PlinkError: the output is not complete, every rank ran alone, or an element of the sum was
            wrong.
    """
    if len(_FIRST_RANK.findall(text)) > 1:
        raise PlinkError(
            "every rank started alone, as rank 0 of a job of its own: this launcher and this MPI "
            "library do not work together",
            "MPICH 4.2.0 as Ubuntu 24.04 packages it is known for it: install another version",
        )
    library = "unknown"
    hostnames: list[str] = []
    seconds: list[float] = []
    cpu_s: list[float] = []
    wrong: int | None = None
    reduction_s_per_gb: float | None = None
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue
        word, _, value = line[len(_PREFIX) :].partition(" ")
        try:
            if word == "library":
                library = " ".join(value.split())
            elif word == "rank":
                hostnames.append(_hostname(value, len(hostnames)))
            elif word == "seconds":
                seconds.append(_seconds(value))
            elif word == "cpu":
                cpu_s.append(_cpu_seconds(value))
            elif word == "reduction":
                reduction_s_per_gb = _seconds(value)
            elif word == "wrong":
                wrong = int(value)
        except ValueError:
            raise PlinkError(f"the MPI program printed {line!r}, which is not valid") from None
    if wrong is None or len(seconds) != repetitions:
        raise PlinkError(
            f"the MPI program reported {len(seconds)} of {repetitions} repetitions and then ended"
        )
    if wrong:
        raise PlinkError(f"{wrong} elements of the sums are wrong")
    return MpiReport(library, hostnames, seconds, cpu_s, reduction_s_per_gb)


def check_order(report: MpiReport, expected: Sequence[str]) -> None:
    """Hold the launcher to the order.

    Args:
        report: of the launch.
        expected: the host name that each rank should have reported.

    Raises:
        PlinkError: a rank ran on another host.
    """
    if len(report.hostnames) != len(expected):
        raise PlinkError(f"{len(report.hostnames)} ranks ran, expected {len(expected)}")
    for rank, (found, wanted) in enumerate(zip(report.hostnames, expected, strict=True)):
        if found != wanted:
            raise PlinkError(
                f"the launcher did not apply the order: rank {rank} ran on {found}, not on {wanted}"
            )


def is_timeout(printed: str) -> bool:
    """Return whether the program ended by its own alarm, by what the launcher printed."""
    return _SIGALRM.search(printed) is not None


def explain(launcher: str, status: int, printed: str, hostnames: Sequence[str]) -> PlinkError:
    """Explain a launcher's failure in one sentence.

    Args:
        launcher: its name.
        status: its exit status.
        printed: all that it printed, on both streams.
        hostnames: the host name of each rank.
    """
    for pattern in _DEATHS:
        match = pattern.search(printed)
        if match is not None:
            reason = " ".join(match["reason"].split()).rstrip(".")
            return PlinkError(f"{match['host']}: its MPI rank ended ({reason})")
    match = _ABORT.search(printed)
    if match is not None and int(match["rank"]) < len(hostnames):
        stack = _STACK.findall(printed)
        reason = stack[-1].strip() if stack else "it said no more"
        return PlinkError(f"{hostnames[int(match['rank'])]}: MPI gave up there ({reason[:200]})")
    lines = [line.strip() for line in printed.splitlines() if not line.startswith(_PREFIX)]
    brief = " ".join([line for line in lines if not _NOISE.match(line)][:3])
    brief = " ".join(brief.split())[:300] or "it said nothing"
    return PlinkError(f"{launcher} ended with status {status}: {brief}")


def _not_installed(host: str, title: str, reason: str, packages: str) -> HostError:
    return HostError(
        host, f"{title} is not installed there ({reason})", f"install {packages} on every host"
    )


def _hostname(value: str, expected_rank: int) -> str:
    rank, _, host = value.partition(" ")
    if int(rank) != expected_rank or not host:
        raise ValueError
    return host


def _seconds(value: str) -> float:
    seconds = float(value)
    if not 0.0 < seconds < 1e9:
        raise ValueError
    return seconds


def _cpu_seconds(value: str) -> float:
    seconds = float(value)
    if not 0.0 <= seconds < 1e9:
        raise ValueError
    return seconds
