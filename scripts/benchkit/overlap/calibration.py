"""What collectives of a group take, measured right before schedules are planned for them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from plink.training.overlap.network import Network

SMALL_BYTES, LARGE_BYTES = 4_000, 1_000_000
# Long enough for what a shaped link lets pass at once, after a rest, not to count.
BURST, BURSTS = 12, 5


@dataclass(frozen=True)
class Collectives:
    """Seconds, of all ranks the least, medians.

    Args:
        small_s, large_s: each of a burst, one at a time.
        small_of_two_s, large_of_two_s: the same, two at a time.
    """

    small_s: float
    large_s: float
    small_of_two_s: float
    large_of_two_s: float

    def network(self) -> Network:
        """In which collectives take what was measured."""
        s_per_byte, startup_s = _line(self.small_s, self.large_s)
        line_s_per_byte, exclusive_s = _line(self.small_of_two_s, self.large_of_two_s)
        exclusive_s = min(startup_s, exclusive_s)
        line_s_per_byte = min(s_per_byte, line_s_per_byte)
        return Network(startup_s - exclusive_s, exclusive_s, s_per_byte, line_s_per_byte)


def _line(small_s: float, large_s: float) -> tuple[float, float]:
    """Seconds a byte, and seconds without bytes."""
    s_per_byte = max(0.0, large_s - small_s) / (LARGE_BYTES - SMALL_BYTES)
    return s_per_byte, max(0.0, small_s - s_per_byte * SMALL_BYTES)


def calibrate(one: Any, two: Any) -> Collectives:
    """Measure, on every rank of both groups.

    Args:
        one: a group of which one collective is in flight.
        two: a group of which two are.
    """
    return Collectives(
        *(_each_s(group, size) for group in (one, two) for size in (SMALL_BYTES, LARGE_BYTES))
    )


def _each_s(group: Any, size_bytes: int) -> float:
    arrays = [torch.zeros(size_bytes // 4) for _ in range(BURST)]
    seconds = []
    for _ in range(BURSTS):
        dist.barrier(group)
        began_s = time.perf_counter()
        works = [dist.all_reduce(array, group=group, async_op=True) for array in arrays]
        for work in works:
            work.wait()
        seconds.append((time.perf_counter() - began_s) / BURST)
    # The rank that came last has waited for nobody.
    least = torch.tensor(seconds)
    dist.all_reduce(least, dist.ReduceOp.MIN, group=group)
    return float(statistics.median(least.tolist()))
