"""What the MPI program and its launchers print, made into times or into one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from plink.errors import PlinkError
from probes.errors import HostError

_PREFIX = "plink-bench "

# What the launchers say of a rank that died.
_DEATHS = (
    re.compile(r"process rank \d+ with PID \d+ on node (?P<host>\S+) (?P<reason>exited on .*)"),
    re.compile(r"RUNNING AT (?P<host>\S+)\s*\n=\s*(?P<reason>(?:EXIT CODE|KILLED BY).*)"),
)
_SIGALRM = re.compile(r"signal 14\b|EXIT CODE: 14\b|Alarm clock")
_NOISE = re.compile(r"[-=\s*]*$|\[[^\]]*\] (?:\*\*\*|PMIX)|WARNING|Warning:")


@dataclass(frozen=True)
class Run:
    """One launch as rank 0 reported it.

    Args:
        library: the MPI library's own version text.
        hostnames: the host name of each rank, as that host calls itself.
        seconds: the longest time of any rank, per timed repetition.
    """

    library: str
    hostnames: Sequence[str]
    seconds: Sequence[float]


def parse_run(text: str, repetitions: int) -> Run:
    """The launch whose standard output is `text`.

    Raises:
        PlinkError: the output is not complete, or an element of the sum was wrong.
    """
    library = "unknown"
    hostnames: list[str] = []
    seconds: list[float] = []
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
    return Run(library, hostnames, seconds)


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


def is_timeout(errors: str) -> bool:
    """Whether the program ended by its own alarm."""
    return _SIGALRM.search(errors) is not None


def explain(launcher: str, status: int, errors: str) -> PlinkError | HostError:
    """One sentence for a launcher that ended with `status` and these errors."""
    for pattern in _DEATHS:
        match = pattern.search(errors)
        if match is not None:
            reason = " ".join(match["reason"].split()).rstrip(".")
            return HostError(match["host"], f"its MPI rank ended ({reason})")
    told = [line.strip() for line in errors.splitlines() if not _NOISE.match(line)]
    brief = " ".join(" ".join(told[:3]).split())[:300] or "it said nothing"
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
