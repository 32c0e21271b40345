"""Choose where the timelines of a group's ranks are written, and by which clock."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from plink.base.errors import WrongUseError

VARIABLE = "PLINK_TIMELINE"
RANK = "{rank}"


def file_of(given: str, rank: int, group: str = "") -> Path:
    """Return the file of a rank.

    Args:
        given: a folder; or a file's name, which ends in `.json` and may hold `{rank}`.
        rank: in its group.
        group: a word that tells a group of some of the job's ranks from others; empty for that of
            all of them, whose files alone lie in the folder.

    Raises:
        WrongUseError: nothing is given.
    """
    if not given.strip("/ ") and "/" not in given:
        raise WrongUseError("the timeline has no name", "give a folder, or a file such as t.json")
    if not given.endswith(".json"):
        folder = Path(given.replace(RANK, str(rank)))
        return (folder / group if group else folder) / f"rank{rank}.json"
    stem = given.removesuffix(".json")
    if RANK not in stem:
        stem = f"{stem}-rank{RANK}"
    own = f"-{group}" if group else ""
    return Path(f"{stem.replace(RANK, str(rank))}{own}.json")


def clock_name() -> str:
    """Return a name of the clock of `time.monotonic`, the same for processes that share it.

    That of Linux runs from the machine's start; containers share it, unless they are given a time
    of their own (time_namespaces(7)).
    """
    names = []
    with contextlib.suppress(OSError):
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    with contextlib.suppress(OSError):
        names.append(os.readlink("/proc/self/ns/time"))  # noqa: PTH115 - it leads to no file
    return " ".join(names) or f"process {os.getpid()} of {os.uname().nodename}"


def ahead_us() -> float:
    """Return by how many µs the time since 1970 is ahead of `time.monotonic`."""
    before_ns = time.monotonic_ns()
    wall_ns = time.time_ns()
    return (wall_ns - (before_ns + time.monotonic_ns()) / 2) * 1e-3
