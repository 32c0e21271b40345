"""One rank of the benchmark training-sparse: what steps take that send less, over plink and Gloo.

The first line of standard input says who and where this rank is, each further line what to train;
all are JSON, and each is answered by a line of JSON on standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import SGD, Optimizer

from benchkit.hooks import register_hook
from benchkit.networks import NETWORKS
from benchkit.programs.meeting import Meeting, rank_task
from plink.torch import CSC, PlinkGroup, SparseSGD

TIMEOUT_S = 900
MOMENTUM, LEARNING_RATE = 0.9, 1e-3
# As few as PowerSGD takes.
WARMUP_STEPS = 3


def main() -> None:
    """Meet the others, then do as told until standard input ends."""
    # Answers keep the real standard output; what libraries print goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    rank = Rank(rank_task())
    print(json.dumps({}), file=output)
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(getattr(rank, command.pop("do"))(**command)), file=output)
    dist.destroy_process_group()


class Rank:
    """This process's part; its public methods are the commands.

    Args:
        task: as `benchkit.processes.rank_tasks` makes it.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self.rank, self.ranks = task["rank"], task["ranks"]
        Meeting(task, TIMEOUT_S).join("plink")
        self._groups = {"plink": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
        self._trained: dict[str, Callable[[], None]] = {}

    def prepare(self, name: str, way: dict[str, Any], scale: float) -> dict[str, Any]:
        """Make a network of which there are the gradients alone, and train it for a few steps."""
        model = _Gradients(scale)
        used, optimizer = self._begin(model, way)

        def step() -> None:
            optimizer.zero_grad()
            used().backward()
            optimizer.step()

        self._trained[name] = step
        # The first is dense, DDP cuts its buckets anew after it, and PowerSGD begins later.
        for _ in range(WARMUP_STEPS + 1):
            step()
        return {}

    def forget(self, name: str) -> dict[str, Any]:
        """Give the memory back."""
        del self._trained[name]
        return {}

    def time(self, name: str, steps: int) -> dict[str, Any]:
        """Train on.

        Returns:
            `seconds` a step, and `sent_bytes` of this rank, which the engine counts alone.
        """
        dist.barrier()
        before, began_s = _sent_bytes(), time.monotonic()
        for _ in range(steps):
            self._trained[name]()
        seconds = (time.monotonic() - began_s) / steps
        return {"seconds": seconds, "sent_bytes": (_sent_bytes() - before) / steps}

    def _begin(self, model: nn.Module, way: dict[str, Any]) -> tuple[nn.Module, Optimizer]:
        if way["kind"] == "csc":
            csc = CSC(0.85, way["chunk"], 0, way["correction"])
            return model, SparseSGD(model, lr=LEARNING_RATE, momentum=MOMENTUM, csc=csc)
        group = self._groups[way["over"]]
        # One bucket: PowerSGD posts from callbacks, whose order over several differs between ranks.
        used = DistributedDataParallel(
            model, process_group=group, gradient_as_bucket_view=True, bucket_cap_mb=1024
        )
        register_hook(used, way["kind"], WARMUP_STEPS)
        return used, SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)


class _Gradients(nn.Module):
    """AlexNet's parameters and no network: gradients are there at once.

    Args:
        scale: of the elements; matrices keep their shape.
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        shapes = [_scale_shape(parameter.shape, scale) for parameter in NETWORKS["alexnet"]()]
        self.all = nn.ParameterList(torch.zeros(shape) for shape in shapes)

    def forward(self) -> Tensor:
        return torch.stack([one.sum() for one in self.all]).sum()


def _scale_shape(shape: tuple[int, ...], scale: float) -> tuple[int, ...]:
    if len(shape) == 1:
        return (max(1, round(shape[0] * scale**0.5)),)
    rows, columns = (max(1, round(length * scale**0.5)) for length in shape[:2])
    return (rows, columns, *shape[2:])


def _sent_bytes() -> int:
    engine = dist.group.WORLD
    figures = engine.statistics() if isinstance(engine, PlinkGroup) else None
    return sum(peer.bytes_sent for peer in figures.peers) if figures is not None else 0


if __name__ == "__main__":
    main()
