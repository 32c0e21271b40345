"""Probes of the network on all ranks together, between two passes."""

from __future__ import annotations

import time

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup, ReduceOp

from plink.torch.work import Reduction
from plink.training.overlap.probes import IN_ROUND, REPEATS, SIZES_BYTES, goes_on
from plink.training.overlap.timings import Timings, begun_in_order


def probe_sizes(group: ProcessGroup, in_flight: int) -> Timings:
    """Time all-reduces of rising sizes for a limited time; return the least times over ranks.

    All ranks call it at the same place among their collectives.

    Args:
        group: of the ranks, plink's.
        in_flight: collectives that the engine runs at once.
    """
    posted: list[list[float]] = [[] for _ in range(REPEATS)]
    ended: list[list[float]] = [[] for _ in range(REPEATS)]
    elapsed_s, place, fits = 0.0, 0, True
    while fits:
        began_s = time.monotonic()
        for repeat in range(REPEATS):
            for count in (1, IN_ROUND - 1):
                for posted_s, ended_s in _at_once(group, SIZES_BYTES[place], count):
                    posted[repeat].append(posted_s)
                    ended[repeat].append(ended_s)
        # All ranks go by the slowest's time.
        took = torch.tensor([time.monotonic() - began_s], dtype=torch.float64)
        dist.all_reduce(took, ReduceOp.MAX, group)
        round_s = float(took[0])
        elapsed_s += round_s
        place += 1
        fits = goes_on(elapsed_s, round_s, place)
    sizes = np.repeat(np.array(SIZES_BYTES[:place], dtype=np.float64), IN_ROUND)
    begun = [begun_in_order(*times, in_flight) for times in zip(posted, ended, strict=True)]
    timings = Timings(sizes, np.array(begun), np.array(ended))
    least = torch.from_numpy(timings.durations_s.copy())
    dist.all_reduce(least, ReduceOp.MIN, group)
    return timings.shortened_to(least.numpy())


def _at_once(group: ProcessGroup, size_bytes: int, count: int) -> list[tuple[float, float]]:
    buffers = [torch.zeros(size_bytes // 4) for _ in range(count)]
    works = [dist.all_reduce(one, group=group, async_op=True) for one in buffers]
    found = []
    for work in works:
        work.wait()
        times = work.times_s() if isinstance(work, Reduction) else None
        found.append(times or (0.0, 0.0))
    return found
