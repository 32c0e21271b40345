"""Run on every rank: a training whose plan changes, every sum checked."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

SIZES = (10_000, 3_000, 7)


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


def until_switched(say: Any, rank: int, switches: int) -> int:
    """Train until the plan has changed so often, which all ranks see at the same collective."""
    group = dist.group.WORLD
    iteration = 0
    seen = set()
    while len(seen) <= switches:
        iterate(rank, iteration)
        iteration += 1
        seen.add(group.plan_number)  # type: ignore[union-attr]
    return iteration
