"""One rank of the benchmark switches: iterates while plans change, and checks every sum.

A JSON object on standard input says what to do; one on standard output what was measured.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from benchkit.programs.meeting import Meeting, rank_task

TIMEOUT_S = 60
# Different data from iteration to iteration, without drawing all anew.
DRAWN = 3


class Traffic:
    """Buckets of random whole numbers, and their sums over all ranks."""

    def __init__(self, rank: int, ranks: int, sizes_bytes: list[int], seed: int) -> None:
        def drawn(of_rank: int, turn: int) -> list[Any]:
            numbers = np.random.default_rng([seed, of_rank, turn])
            return [numbers.integers(-(1 << 62), 1 << 62, size // 8) for size in sizes_bytes]

        self._own = [drawn(rank, turn) for turn in range(DRAWN)]
        self._sums = []
        for turn in range(DRAWN):
            sums = [np.zeros_like(bucket) for bucket in self._own[0]]
            for other in range(ranks):
                for bucket, more in zip(sums, drawn(other, turn), strict=True):
                    np.add(bucket, more, out=bucket)
            self._sums.append(sums)
        self._buckets = [np.empty_like(bucket) for bucket in self._own[0]]
        self._expected = [np.empty_like(bucket) for bucket in self._own[0]]

    def reduce(self, iteration: int) -> None:
        """One iteration, whose sums are right: whole numbers wrap around."""
        turn, factor = iteration % DRAWN, np.int64(2 * iteration + 1)
        for own, bucket in zip(self._own[turn], self._buckets, strict=True):
            np.multiply(own, factor, out=bucket)
        tensors = [torch.from_numpy(bucket) for bucket in self._buckets]
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()
        for total, expected, bucket in zip(
            self._sums[turn], self._expected, self._buckets, strict=True
        ):
            np.multiply(total, factor, out=expected)
            if not np.array_equal(expected, bucket):
                raise SystemExit(f"a wrong sum in iteration {iteration}")


def main() -> None:
    """Meet the others, iterate, tell."""
    task = rank_task()
    os.environ.update(task["environment"])
    meeting = Meeting(task, TIMEOUT_S)
    meeting.join("switches")
    measured = {}
    for name, sizes_bytes in task["traffic"].items():
        traffic = Traffic(meeting.rank, meeting.ranks, sizes_bytes, task["seed"])
        dist.barrier()
        measured[name] = iterate(traffic, task["switches"])
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps(measured), flush=True)


def iterate(traffic: Traffic, switches: int) -> dict[str, Any]:
    """Seconds of each iteration and the plan in force after it, until plans have changed often."""
    group: Any = dist.group.WORLD
    first = group.plan_number
    seconds: list[float] = []
    plans: list[int] = []
    ended = time.perf_counter()
    # Behind the last change there are iterations to compare with.
    while group.plan_number <= first + switches:
        traffic.reduce(len(seconds))
        began, ended = ended, time.perf_counter()
        seconds.append(ended - began)
        plans.append(group.plan_number)
    return {"seconds": seconds, "plans": plans, "first": first}


if __name__ == "__main__":
    main()
