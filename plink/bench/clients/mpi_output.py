"""What the MPI program and its launchers print, made into times or into one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import PlinkError

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
class Run:
    """One launch as rank 0 reported it.

    Args:
        library: the MPI library's own version text.
        hostnames: the host name of each rank, as that host calls itself.
        seconds: the longest time of any rank, per timed repetition.
        cpu_s: CPU seconds of a rank's process, the mean over ranks, per timed repetition.
    """

    library: str
    hostnames: Sequence[str]
    seconds: Sequence[float]
    cpu_s: Sequence[float] = ()


def parse_run(text: str, repetitions: int) -> Run:
    """The launch whose standard output is `text`.

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
            elif word == "wrong":
                wrong = int(value)
        except ValueError:
            raise PlinkError(f"the MPI program printed {line!r}, which cannot be") from None
    if wrong is None or len(seconds) != repetitions:
        raise PlinkError(
            f"the MPI program reported {len(seconds)} of {repetitions} repetitions and then ended"
        )
    if wrong:
        raise PlinkError(f"{wrong} elements of the sums are wrong")
    return Run(library, hostnames, seconds, cpu_s)


def check_order(run: Run, expected: Sequence[str]) -> None:
    """Hold the launcher to the order.

    Args:
        run: what happened.
        expected: the host name that each rank should have reported.

    Raises:
        PlinkError: a rank ran on another host.
    """
    if len(run.hostnames) != len(expected):
        raise PlinkError(f"{len(run.hostnames)} ranks ran, expected {len(expected)}")
    for rank, (found, wanted) in enumerate(zip(run.hostnames, expected, strict=True)):
        if found != wanted:
            raise PlinkError(
                f"the launcher did not apply the order: rank {rank} ran on {found}, not on {wanted}"
            )


def is_timeout(told: str) -> bool:
    """Whether the program ended by its own alarm, by what the launcher printed."""
    return _SIGALRM.search(told) is not None


def explain(launcher: str, status: int, told: str, hostnames: Sequence[str]) -> PlinkError:
    """One sentence for a launcher that failed.

    Args:
        launcher: its name.
        status: its exit status.
        told: all that it printed.
        hostnames: the host name of each rank.
    """
    for pattern in _DEATHS:
        match = pattern.search(told)
        if match is not None:
            reason = " ".join(match["reason"].split()).rstrip(".")
            return PlinkError(f"{match['host']}: its MPI rank ended ({reason})")
    match = _ABORT.search(told)
    if match is not None and int(match["rank"]) < len(hostnames):
        stack = _STACK.findall(told)
        reason = stack[-1].strip() if stack else "it said no more"
        return PlinkError(f"{hostnames[int(match['rank'])]}: MPI gave up there ({reason[:200]})")
    lines = [line.strip() for line in told.splitlines() if not line.startswith(_PREFIX)]
    brief = " ".join([line for line in lines if not _NOISE.match(line)][:3])
    brief = " ".join(brief.split())[:300] or "it said nothing"
    return PlinkError(f"{launcher} ended with status {status}: {brief}")


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
