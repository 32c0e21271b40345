"""Run on every rank: when a group's Gloo is made, and what asks for it."""

from __future__ import annotations

import os
import time
from typing import Any

import torch
import torch.distributed as dist


def asked_for_by_one(say: Any, rank: int) -> list[Any]:
    """One rank needs Gloo first, while the others are in a collective of the engine."""
    world: Any = dist.group.WORLD
    dist.broadcast(torch.ones(3), 0)
    made = [world._gloo.is_made, world.group_name, world.group_desc]
    dist.barrier()
    got = torch.zeros(1)
    if rank == 0:
        world._get_backend(torch.device("cpu"))
        got += 7.0
    dist.all_reduce(got)
    product = torch.full((2,), rank + 1.0)
    dist.all_reduce(product, dist.ReduceOp.PRODUCT)
    backend = world._get_backend(torch.device("cpu"))
    return [*made, got.item(), product.tolist(), type(backend).__name__]


def gone_before_gloo_is_needed(say: Any, rank: int) -> None:
    """The last rank ends before another needs Gloo."""
    dist.barrier()
    if rank == dist.get_world_size() - 1:
        os._exit(0)
    # Asked sooner, it might still take part.
    world: Any = dist.group.WORLD
    until = time.monotonic() + 30.0
    while world.failure() is None and time.monotonic() < until:
        time.sleep(0.01)
    try:
        dist.all_reduce(torch.ones(2), dist.ReduceOp.PRODUCT)
    except RuntimeError as error:
        say(str(error))
