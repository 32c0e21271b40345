"""All-reduces of an accelerator's tensors, on the stand-in or on a GPU, beside others."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

import plink.torch
from plink.torch.accelerator import AcceleratorStage, Lane
from plink.torch.executors import SerialExecutor
from plink.torch.pieces import PIECE_BYTES
from pytorch.late_device import RemoteTensor, Runtime, Stream

WAIT = datetime.timedelta(seconds=30)
# Two pieces and a bit of float32.
LONG_ITEMS = 2 * PIECE_BYTES // 4 + 12_345


def ordinary(size_bytes: int) -> Tensor:
    """In place of page-locked memory, which needs a GPU."""
    return torch.empty(size_bytes, dtype=torch.uint8)


def lane_of(
    runtime: Runtime, down: Collection[str] = (), up: Collection[str] = ()
) -> tuple[Lane, SerialExecutor]:
    """`down`, `up`: what these streams ignore."""
    homebound = SerialExecutor("homebound")
    streams = Stream(runtime, "down", down), Stream(runtime, "up", up)
    return Lane(runtime, *streams, homebound, ordinary), homebound


def has_stand_in(runtime: Runtime) -> None:
    """Tensors of the stand-in go its way in the group of all ranks."""
    group: Any = dist.group.WORLD
    direct = group._stage
    lane, _ = lane_of(runtime)
    lane.homebound = group._homebound

    def stage(tensors: Sequence[Tensor]) -> Any:
        if not isinstance(tensors[0], RemoteTensor):
            return direct(tensors)
        late = AcceleratorStage(tensors, lane, group._is_cut)
        # A future knows the CPU by no device.
        late.devices = ()
        return late

    group._stage = stage
    if group.negotiation is not None:
        group.negotiation._stage = stage


def mixed(say: Any, rank: int) -> list[float]:
    """Tensors on the device and others, in one order; on every rank others are on the device."""
    runtime = Runtime()
    has_stand_in(runtime)
    dist.group.WORLD._is_cut = True  # type: ignore[union-attr]
    works, tensors = [], []
    for i in range(24):
        items = LONG_ITEMS if i % 8 == 5 else 100 + i
        tensor = torch.full((items,), float(i + rank))
        tensors.append(tensor if (i + rank) % 3 else runtime.place(tensor))
        works.append(dist.group.WORLD.allreduce([tensors[-1]]))  # type: ignore[union-attr]
        if i == 0:
            assert works[0].get_future().wait()[0] is not None
    for work in works:
        work.wait(WAIT)
    host = [runtime.fetch(one) if isinstance(one, RemoteTensor) else one for one in tensors]
    assert runtime.unrecorded == []
    assert all(torch.all(one == one[0]) for one in host)
    return [one[0].item() for one in host]


def named(say: Any, rank: int, is_cut: bool) -> list[list[float]]:
    """All-reduces by name of what a side stream computes: alone, together, scaled, beside joins."""
    runtime = Runtime()
    has_stand_in(runtime)
    group: Any = dist.group.WORLD
    group._is_cut = is_cut
    found = []

    def reduced(*tensors: Tensor, **options: Any) -> list[Tensor]:
        """On a stream of its own, which also reads the results."""
        side = Stream(runtime, f"side {len(found)}")
        with runtime.stream(side):
            placed = [runtime.place(tensor) for tensor in tensors]
            if len(placed) > 1 and options.pop("is_group", False):
                works = plink.torch.grouped_all_reduce(placed, f"g{len(found)}", **options)
            else:
                works = [
                    plink.torch.all_reduce(one, f"n{len(found)}-{i}", **options)
                    for i, one in enumerate(placed)
                ]
            # What is queued later is not waited for.
            later: list[int] = []
            side.queue(lambda: later.append(1))
            for work in works:
                work.wait(WAIT)
            assert later == []
            return [runtime.fetch(one) for one in placed]

    def note(tensors: list[Tensor]) -> None:
        for tensor in tensors:
            values = tensor.unique().tolist()
            found.append(values)

    note(reduced(torch.full((9,), rank + 1.0)))
    note(reduced(torch.full((LONG_ITEMS,), rank + 1.0)))
    note(reduced(*(torch.full((i,), rank + float(i)) for i in range(1, 9))))
    note(reduced(torch.full((5,), rank + 1.0), torch.full((2,), 5.0), is_group=True))
    note(reduced(torch.full((LONG_ITEMS,), rank + 1.0), postscale_factor=10.0))
    note(reduced(torch.full((4, 6), rank + 1.0), prescale_factor=0.5, postscale_factor=4.0))
    if rank == 1:
        note(reduced(torch.full((3,), 7.0), postscale_factor=3.0))
    plink.torch.join()
    assert runtime.unrecorded == []
    return found


def killed(say: Any, rank: int) -> str:
    """A rank that is gone while pieces are on their way."""
    runtime = Runtime()
    has_stand_in(runtime)
    dist.group.WORLD._is_cut = True  # type: ignore[union-attr]
    dist.barrier()
    if rank == 1:
        dist.group.WORLD.abort()  # type: ignore[union-attr]
        return ""
    try:
        work = dist.all_reduce(runtime.place(torch.ones(20 * LONG_ITEMS)), async_op=True)
        assert work is not None
        work.wait(WAIT)
    except dist.DistBackendError as error:
        return str(error)
    return "no error"


def on_gpu(say: Any, rank: int) -> list[float]:
    """Short and long tensors, computed on the default stream and on another one."""
    means = []
    other = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    for items in (100_000, 40 * LONG_ITEMS):
        for stream in (torch.cuda.current_stream(), other):
            with torch.cuda.stream(stream):
                tensor = torch.zeros(items, device="cuda")
                # So that the value is late.
                for _ in range(50):
                    tensor.add_((rank + 1.0) / 50)
                future = dist.all_reduce(tensor, async_op=True).get_future()
                future.wait()
                means.append(round((tensor * 2.0).double().mean().item(), 3))
    return means
