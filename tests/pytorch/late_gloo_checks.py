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
    """Whether the last rank, which is slow, is connected when another rank has Gloo."""
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


def not_connected(say: Any, rank: int, is_late: bool) -> str:
    """The error of a rank where the last one cannot make Gloo, before or after it connects."""
    world: Any = dist.group.WORLD
    make = world._gloo._make

    def fail(store: Any, timeout: timedelta) -> Any:
        if is_late:
            world._kept = make(store, timeout)
        raise RuntimeError("no such device")

    if rank == dist.get_world_size() - 1:
        world._gloo._make = fail
    dist.barrier()
    return _error_of_gloo()


def left_before(say: Any, rank: int, folder: str) -> str:
    """The error of a rank where the last one has ended its group before Gloo was needed."""
    dist.barrier()
    if rank == dist.get_world_size() - 1:
        dist.destroy_process_group()
        return ""
    world: Any = dist.group.WORLD
    # Asked sooner, it might still take part.
    assert world._gloo._is_over.wait(30.0)
    error = _error_of_gloo()
    _wait_for_others(rank, Path(folder))
    dist.destroy_process_group()
    return error


def left_meanwhile(say: Any, rank: int, folder: str) -> str:
    """The error of a rank where the last one ends its group before it is connected."""
    world: Any = dist.group.WORLD

    def hang(store: Any, timeout: timedelta) -> Any:
        # This rank's own.
        world._gloo._is_over.wait()
        raise RuntimeError("too late")

    is_last = rank == dist.get_world_size() - 1
    if is_last:
        world._gloo._make = hang
    dist.barrier()
    if is_last:
        while not world._gloo.is_connecting:
            time.sleep(0.001)
        dist.destroy_process_group()
        return ""
    error = _error_of_gloo()
    _wait_for_others(rank, Path(folder))
    dist.destroy_process_group()
    return error


def _wait_for_others(rank: int, folder: Path) -> None:
    """Wait until all ranks but the last come here: one that ended its group would be named, too."""
    marks = [folder / f"error of {other}" for other in range(dist.get_world_size() - 1)]
    marks[rank].touch()
    while not all(mark.exists() for mark in marks):
        time.sleep(0.001)


def _error_of_gloo() -> str:
    world: Any = dist.group.WORLD
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
