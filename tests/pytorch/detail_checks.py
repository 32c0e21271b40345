"""Run on every rank: what PyTorch asks of works and groups beside the result."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

RANKS = 2

# Begun on a group by a rank; each gives its work.
COLLECTIVES: tuple[Callable[[Any, int], Any], ...] = (
    lambda group, _rank: dist.broadcast(torch.ones(4), 0, group=group, async_op=True),
    lambda group, _rank: dist.all_reduce(torch.ones(4), group=group, async_op=True),
    lambda group, _rank: dist.reduce(torch.ones(4), 0, group=group, async_op=True),
    lambda group, _rank: dist.all_gather(
        [torch.ones(4) for _ in range(RANKS)], torch.ones(4), group=group, async_op=True
    ),
    lambda group, _rank: dist.all_gather_into_tensor(
        torch.ones(4 * RANKS), torch.ones(4), group=group, async_op=True
    ),
    lambda group, rank: dist.gather(
        torch.ones(4),
        [torch.ones(4) for _ in range(RANKS)] if rank == 0 else None,
        group=group,
        async_op=True,
    ),
    lambda group, rank: dist.scatter(
        torch.ones(4),
        [torch.ones(4) for _ in range(RANKS)] if rank == 0 else None,
        group=group,
        async_op=True,
    ),
    lambda group, _rank: dist.all_to_all_single(
        torch.ones(RANKS), torch.ones(RANKS), group=group, async_op=True
    ),
    lambda group, _rank: dist.barrier(group=group, async_op=True),
    lambda group, rank: (dist.irecv if rank else dist.isend)(torch.ones(4), 1 - rank, group),
    lambda group, rank: (
        dist.irecv(torch.ones(4), group=group) if rank else dist.isend(torch.ones(4), 1, group)
    ),
)


def every_detail(say: Any, rank: int) -> dict[str, Any]:
    """By name of the check what it found."""
    gloo = dist.new_group(backend="gloo")
    world = dist.group.WORLD
    assert world is not None
    return {
        check.__name__: check(rank, world, gloo)
        for check in (builtin_hooks, events, operations, numbers, expanded)
    }


def builtin_hooks(rank: int, world: dist.ProcessGroup, gloo: dist.ProcessGroup) -> list[bool]:
    """Whether gradients by DDP's hooks in C++ are Gloo's."""
    same = []
    for hook in (dist.BuiltinCommHookType.ALLREDUCE, dist.BuiltinCommHookType.FP16_COMPRESS):
        gradients = []
        for group in (world, gloo):
            torch.manual_seed(0)
            model = DistributedDataParallel(nn.Linear(30, 3), process_group=group)
            model._register_builtin_comm_hook(hook)
            for _ in range(3):
                model(torch.full((2, 30), rank + 1.0)).sum().backward()
            gradients.append([one.grad for one in model.parameters()])
        same.append(all(map(torch.equal, *gradients)))
    return same


def events(rank: int, world: dist.ProcessGroup, gloo: dist.ProcessGroup) -> list[Any]:
    """Of a work that ended long before `wait`, and of one without a work, as PyTorch counts."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        work = dist.all_reduce(torch.ones(1000), async_op=True)
        while not work.is_completed():
            pass
        dist.barrier(group=gloo)
        # Another thread tells the profiler, which takes longer on a busy machine.
        until = time.monotonic() + 20.0
        while not work._event._recorded.done() and time.monotonic() < until:
            time.sleep(0.001)
        with torch.profiler.record_function("long after"):
            work.wait()
        dist.all_reduce(torch.ones(1000))
    dist.all_reduce(torch.ones(1000))
    found = {event.name: event for event in profiler.events()}
    ours = [event for event in profiler.events() if event.name == "plink:all_reduce"]
    ended = min(event.time_range.end for event in ours)
    return [
        len(ours),
        all(event.is_async for event in ours),
        ended < found["long after"].time_range.start,
    ]


def operations(rank: int, world: dist.ProcessGroup, gloo: dist.ProcessGroup) -> list[str]:
    """Collectives whose works or events say another name than Gloo's do."""
    different = []
    for begin in COLLECTIVES:
        said = []
        for group, backend in ((world, "plink"), (gloo, "gloo")):
            with profile(activities=[ProfilerActivity.CPU]) as profiler:
                work = begin(group, rank)
                work.wait()
            names = {one.name for one in profiler.events() if one.name.startswith(f"{backend}:")}
            said.append((work._get_op_type(), {name.split(":")[1] for name in names}))
        if said[0] != said[1]:
            different.append(f"{said[0]} for {said[1]}")
    return different


def numbers(rank: int, world: Any, gloo: Any) -> list[int]:
    """How a group's number grows by all-reduces, one, two and coalesced, and by a broadcast."""
    world._set_sequence_number_for_group()
    found = [world._get_sequence_number_for_group()]
    for _ in range(3):
        dist.all_reduce(torch.ones(3))
    found.append(world._get_sequence_number_for_group())
    dist.all_reduce_coalesced([torch.ones(3), torch.ones(2)])
    found.append(world._get_sequence_number_for_group())
    dist.broadcast(torch.ones(3), 0)
    found.append(world._get_sequence_number_for_group())
    return [after - before for before, after in itertools.pairwise(found)]


def expanded(rank: int, world: dist.ProcessGroup, gloo: dist.ProcessGroup) -> list[float]:
    """Tensors whose elements stand for several; on one rank they do not."""
    mine = torch.full((3, 1, 2), rank + 1.0)
    rows = mine.clone().expand(3, 4, 2) if rank == 0 else mine.repeat(1, 4, 1)
    number = torch.tensor(rank + 1.0).expand(5)
    dist.all_reduce(rows)
    dist.all_reduce(number)
    return sorted({*rows.flatten().tolist(), *number.tolist()})
