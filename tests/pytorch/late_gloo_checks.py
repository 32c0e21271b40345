"""Run on every rank: when a group's Gloo is made, and what asks for it."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
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


def connected_late(say: Any, rank: int, folder: str) -> bool:
    """Whether the last rank is connected when a rank has Gloo, though it comes back later."""
    world: Any = dist.group.WORLD
    mark = Path(folder, "connected")
    make = world._gloo._make

    def make_late(store: Any, timeout: timedelta) -> Any:
        backend = make(store, timeout)
        time.sleep(0.5)
        mark.touch()
        return backend

    if rank == dist.get_world_size() - 1:
        world._gloo._make = make_late
    dist.barrier()
    world._get_backend(torch.device("cpu"))
    return mark.exists()


def not_connected(say: Any, rank: int) -> str:
    """What a rank hears of Gloo where the last one cannot make it."""
    world: Any = dist.group.WORLD
    make = world._gloo._make

    def fail(store: Any, timeout: timedelta) -> Any:
        make(store, timeout)
        raise RuntimeError("no such device")

    if rank == dist.get_world_size() - 1:
        world._gloo._make = fail
    dist.barrier()
    try:
        world._get_backend(torch.device("cpu"))
    except dist.DistBackendError as error:
        return str(error)
    return ""


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
