"""Run on every rank: when a group's Gloo is made, and what asks for it."""

from __future__ import annotations

import os
from typing import Any

import torch
import torch.distributed as dist


def messages_between_two(say: Any, rank: int) -> list[Any]:
    """Two ranks need Gloo first, while the third is in a collective of the engine."""
    world: Any = dist.group.WORLD
    dist.broadcast(torch.ones(3), 0)
    made = [world._gloo.is_made, world.group_name, world.group_desc]
    got = torch.zeros(1)
    if rank == 0:
        dist.send(torch.tensor([7.0]), 1)
    elif rank == 1:
        dist.recv(got, 0)
    dist.all_reduce(got)
    product = torch.full((2,), rank + 1.0)
    dist.all_reduce(product, dist.ReduceOp.PRODUCT)
    backend = world._get_backend(torch.device("cpu"))
    kinds = [type(backend).__name__, world.group_name == made[1]]
    dist.barrier()
    dist.destroy_process_group()
    try:
        world._get_backend(torch.device("cpu"))
    except RuntimeError as error:
        kinds.append(str(error))
    return [*made, got.item(), product.tolist(), *kinds]


def gone_before_gloo_is_needed(say: Any, rank: int) -> None:
    """The last rank ends before another needs Gloo."""
    dist.barrier()
    if rank == dist.get_world_size() - 1:
        os._exit(0)
    try:
        dist.send(torch.ones(2), 1 - rank)
    except RuntimeError as error:
        say(str(error))
