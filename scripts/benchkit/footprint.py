"""What a process has used of the processor and holds of the memory, as Linux tells it (proc(5))."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_IN_S = os.sysconf("SC_CLK_TCK")
_KB_IN_MB = 1e6 / 1024
# In /proc/PID/stat, behind the name: user and system time.
_TIMES = slice(11, 13)


def processor_s(pid: int) -> float:
    """Seconds of a processor that it has taken, with all its threads."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    times = stat.rpartition(")")[2].split()[_TIMES]
    return sum(map(int, times)) / _TICKS_IN_S


def memory_mb(pid: int) -> float:
    """Its memory in MB; of a page that n processes share, it holds one nth."""
    return _figure(Path(f"/proc/{pid}/smaps_rollup"), "Pss") / _KB_IN_MB


def threads(pid: int) -> int:
    """How many threads it has."""
    return _figure(Path(f"/proc/{pid}/status"), "Threads")


def descriptors(pid: int) -> int:
    """How many files and connections it has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _figure(path: Path, name: str) -> int:
    lines = path.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
