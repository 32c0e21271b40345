"""What collectives of a group take, measured right before schedules are planned for them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from plink.training.overlap.network import Network

SMALL_BYTES, MIDDLE_BYTES, LARGE_BYTES = 4_000, 64_000, 512_000
REPETITIONS = 15
BURST, BURSTS = 8, 5


@dataclass(frozen=True)
class Collectives:
    """Seconds, of all ranks the most, medians.

    Args:
        small_s, middle_s, large_s: one alone, of these sizes.
        small_each_s, large_each_s: each of a burst, two at a time.
    """

    small_s: float
    middle_s: float
    large_s: float
    small_each_s: float
    large_each_s: float

    def network(self) -> Network:
        """In which collectives take what was measured."""
        s_per_byte = (self.large_s - self.middle_s) / (LARGE_BYTES - MIDDLE_BYTES)
        startup_s = max(0.0, self.small_s - s_per_byte * SMALL_BYTES)
        line_s_per_byte = (self.large_each_s - self.small_each_s) / (LARGE_BYTES - SMALL_BYTES)
        line_s_per_byte = min(s_per_byte, max(0.0, line_s_per_byte))
        exclusive_s = self.small_each_s - line_s_per_byte * SMALL_BYTES
        exclusive_s = min(startup_s, max(0.0, exclusive_s))
        return Network(startup_s - exclusive_s, exclusive_s, s_per_byte, line_s_per_byte)


def calibrated(one: Any, two: Any) -> Collectives:
    """Measure, on every rank of both groups.

    Args:
        one: a group of which one collective is in flight.
        two: a group of which two are.
    """
    alone = (
        _each_s(one, size, 1, REPETITIONS) for size in (SMALL_BYTES, MIDDLE_BYTES, LARGE_BYTES)
    )
    bursts = (_each_s(two, size, BURST, BURSTS) for size in (SMALL_BYTES, LARGE_BYTES))
    return Collectives(*alone, *bursts)


def _each_s(group: Any, size_bytes: int, burst: int, repetitions: int) -> float:
    arrays = [torch.zeros(size_bytes // 4) for _ in range(burst)]
    seconds = []
    for _ in range(repetitions):
        dist.barrier(group)
        began_s = time.perf_counter()
        works = [dist.all_reduce(array, group=group, async_op=True) for array in arrays]
        for work in works:
            work.wait()
        seconds.append((time.perf_counter() - began_s) / burst)
    most = torch.tensor(seconds)
    dist.all_reduce(most, dist.ReduceOp.MAX, group=group)
    return float(statistics.median(most.tolist()))
