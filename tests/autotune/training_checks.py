"""Run on every rank: a training whose plan changes, every sum checked."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from autotune.deciding import PAUSE_S

BUCKETS = 3
ITEMS = 10_000
WITHOUT = 20


class Training:
    """Iterations whose buckets are all of one size."""

    def __init__(self, rank: int) -> None:
        self.iteration = 0
        self._rank = rank
        self._optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)])

    def iterate(self) -> None:
        """Works in flight together, then their sums are compared."""
        ranks = dist.get_world_size()
        numbers = [
            torch.randint(1 << 40, (ranks, ITEMS), generator=self._chance(bucket))
            for bucket in range(BUCKETS)
        ]
        tensors = [drawn[self._rank].clone() for drawn in numbers]
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()
        for drawn, tensor in zip(numbers, tensors, strict=True):
            assert torch.equal(tensor, drawn.sum(0)), f"a wrong sum in {self.iteration}"
        self._optimizer.step()
        self.iteration += 1
        # Ranks, their threads and the daemon share few processors.
        time.sleep(PAUSE_S)

    def _chance(self, bucket: int) -> torch.Generator:
        return torch.Generator().manual_seed(BUCKETS * self.iteration + bucket)


def until_switched(training: Training, switches: int) -> None:
    """Train until the plan has changed so often, which all ranks see at the same collective."""
    group = dist.group.WORLD
    seen = set()
    while len(seen) <= switches:
        training.iterate()
        seen.add(group.plan_number)  # type: ignore[union-attr]


def with_a_daemon_that_dies(say: Any, rank: int, switches: int, again: int, mark: str) -> int:
    """Train until plans have changed so often, on without a daemon, and until they change again.

    Args:
        say: tells the test when the daemon may be killed, and that training went on without.
        rank: of this process.
        switches: that there have to be before.
        again: that there have to be after.
        mark: a file that is there once the daemon is dead.
    """
    training = Training(rank)
    until_switched(training, switches)
    say("switched")
    # All ranks end at the same iteration, when all have trained without for a while.
    without = torch.zeros(1, dtype=torch.int64)
    while without.item() < WITHOUT:
        training.iterate()
        without += Path(mark).exists()
        dist.all_reduce(without, dist.ReduceOp.MIN)
    say("went on")
    until_switched(training, again)
    return training.iteration
