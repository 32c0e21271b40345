"""Tests that hold only on a machine with processors to spare, and say so where it has none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Hosts that wait for one another on a quiet machine leave it idle for far more than half the time.
QUIET_SHARE = 0.5


@contextmanager
def needs_quiet(stat: Path = Path("/proc/stat")) -> Iterator[None]:
    """Skip rather than fail where the processors were busy for most of the time meanwhile."""
    before = _ticks(stat)
    try:
        yield
    except AssertionError as error:
        busy, idle = (after - start for after, start in zip(_ticks(stat), before, strict=True))
        if busy <= QUIET_SHARE * (busy + idle):
            raise
        share = busy / (busy + idle)
        pytest.skip(f"needs a quiet machine: the processors were {share:.0%} busy, and {error}")


def _ticks(stat: Path) -> tuple[int, int]:
    """For how long all processors together were busy and idle, in the kernel's ticks."""
    words = stat.read_text().splitlines()[0].split()
    user, nice, system, idle, waiting, *interrupts = map(int, words[1:9])
    return user + nice + system + sum(interrupts), idle + waiting
