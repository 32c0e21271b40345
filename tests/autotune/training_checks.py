"""Run on every rank: a training whose plan changes, every sum checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

SIZES = (10_000, 3_000, 7)
WITHOUT = 20


def iterate(rank: int, iteration: int) -> None:
    """One iteration: works in flight together, then their sums are compared."""
    ranks = dist.get_world_size()
    tensors = [torch.arange(size, dtype=torch.int64) * (rank + 1) + iteration for size in SIZES]
    for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
        work.wait()
    factor = ranks * (ranks + 1) // 2
    for size, tensor in zip(SIZES, tensors, strict=True):
        expected = torch.arange(size, dtype=torch.int64) * factor + ranks * iteration
        assert torch.equal(tensor, expected), f"a wrong sum in iteration {iteration}"


def until_switched(rank: int, switches: int, iteration: int = 0) -> int:
    """Train until the plan has changed so often, which all ranks see at the same collective."""
    group = dist.group.WORLD
    seen = set()
    while len(seen) <= switches:
        iterate(rank, iteration)
        iteration += 1
        seen.add(group.plan_number)  # type: ignore[union-attr]
    return iteration


def with_a_daemon_that_dies(say: Any, rank: int, switches: int, mark: str) -> int:
    """Train until plans have changed so often, on without a daemon, and until they change again.

    Args:
        say: tells the test when the daemon may be killed, and that training went on without.
        rank: of this process.
        switches: that there have to be each time.
        mark: a file that is there once the daemon is dead.
    """
    iteration = until_switched(rank, switches)
    say("switched")
    # All ranks end at the same iteration, when all have trained without for a while.
    without = torch.zeros(1, dtype=torch.int64)
    while without.item() < WITHOUT:
        iterate(rank, iteration)
        iteration += 1
        without += Path(mark).exists()
        dist.all_reduce(without, dist.ReduceOp.MIN)
    say("went on")
    return iteration + until_switched(rank, switches, iteration)
