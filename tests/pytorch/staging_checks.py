"""Streams that only say what was asked of them, and all-reduces that go their way."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from plink.torch.staging import AcceleratorStage


class Event:
    def __init__(self, said: list[str]) -> None:
        self._said = said

    def synchronize(self) -> None:
        self._said.append("host waits")


class Stream:
    def __init__(self, said: list[str]) -> None:
        self._said = said

    def wait_stream(self, other: Stream) -> None:
        self._said.append("copies wait for caller")

    def wait_event(self, event: Event) -> None:
        self._said.append("caller's stream waits")

    def record_event(self) -> Event:
        self._said.append("event")
        return Event(self._said)


class Runtime:
    """The functions of `torch.cuda` that are used."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.callers = Stream(self.said)

    def current_stream(self, device: torch.device) -> Stream:
        return self.callers

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        self.said.append("copy {")
        yield
        self.said.append("}")


class RemoteTensor(Tensor):
    """On the CPU; it lets itself be recorded."""

    def record_stream(self, stream: Any) -> None:
        stream._said.append("recorded")


def staged(say: Any, rank: int) -> list[float]:
    """Tensors by way of a stage that is ready late, and others between them."""
    runtime = Runtime()
    group: Any = dist.group.WORLD
    direct = group._stage

    def stage(tensors: list[Tensor]) -> Any:
        if not isinstance(tensors[0], RemoteTensor):
            return direct(tensors)
        late = AcceleratorStage(tensors, runtime, Stream(runtime.said), pinned=False)
        # A future knows the CPU by no device.
        late.devices = ()
        return late

    group._stage = stage
    works, tensors = [], []
    for i in range(30):
        tensor = torch.full((100 + i,), float(i + rank))
        tensors.append(tensor if i % 3 else tensor.as_subclass(RemoteTensor))
        works.append(group.allreduce([tensors[-1]]))
        if i == 0:
            assert works[0].get_future().wait()[0] is not None
    for work in works:
        work.wait(datetime.timedelta(seconds=30))
    return [tensor.mean().item() for tensor in tensors]


def on_gpu(say: Any, rank: int) -> list[float]:
    tensor = torch.full((100_000,), rank + 1.0, device="cuda")
    dist.all_reduce(tensor)
    other = torch.full((100_000,), rank + 1.0, device="cuda")
    future = dist.all_reduce(other, async_op=True).get_future()
    future.wait()
    return [tensor.mean().item(), other.mean().item()]
