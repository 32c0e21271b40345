"""The way by pinned memory, walked on the CPU with streams that only say what was asked of them."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pytorch.processes import results
from torch import Tensor


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


def test_an_accelerators_tensor_goes_to_the_host_and_back() -> None:
    from plink.torch.staging import AcceleratorStage

    runtime = Runtime()
    tensors = [torch.ones(2, 3).as_subclass(RemoteTensor), torch.full((4,), 2.0)]
    tensors[1] = tensors[1].as_subclass(RemoteTensor)
    stage = AcceleratorStage(tensors, runtime, Stream(runtime.said), pinned=False)
    assert not stage.is_ready
    stage.ready()
    assert stage.host.tolist() == [1.0] * 6 + [2.0] * 4
    stage.host.mul_(10)
    assert tensors[0].tolist() == [[1.0] * 3] * 2
    stage.finish()
    stage.join()
    assert tensors[0].tolist() == [[10.0] * 3] * 2
    assert tensors[1].tolist() == [20.0] * 4
    assert [word for word in runtime.said if word != "recorded"] == [
        "copies wait for caller",
        "copy {",
        "event",
        "}",
        "host waits",
        "copy {",
        "event",
        "}",
        "caller's stream waits",
    ]
    assert runtime.said.count("recorded") == 3


def staged(say: Any, rank: int) -> list[float]:
    """Tensors by way of a stage that is ready late, and others between them."""
    import torch.distributed as dist

    from plink.torch.staging import AcceleratorStage

    runtime = Runtime()
    group: Any = dist.group.WORLD
    direct = group._stage

    def stage(tensors: list[Tensor]) -> Any:
        if not isinstance(tensors[0], RemoteTensor):
            return direct(tensors)
        return AcceleratorStage(tensors, runtime, Stream(runtime.said), pinned=False)

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


def test_collectives_keep_their_order_whatever_way_they_go(tmp_path: Path) -> None:
    assert results(staged, 2, tmp_path) == [[2.0 * i + 1.0 for i in range(30)]] * 2


@pytest.mark.skipif("not __import__('torch').cuda.is_available()", reason="no GPU here")
def test_a_gpus_tensor(tmp_path: Path) -> None:
    assert results(on_gpu, 2, tmp_path) == [[3.0, 3.0]] * 2


def on_gpu(say: Any, rank: int) -> list[float]:
    import torch.distributed as dist

    tensor = torch.full((100_000,), rank + 1.0, device="cuda")
    dist.all_reduce(tensor)
    other = torch.full((100_000,), rank + 1.0, device="cuda")
    future = dist.all_reduce(other, async_op=True).get_future()
    future.wait()
    return [tensor.mean().item(), other.mean().item()]
