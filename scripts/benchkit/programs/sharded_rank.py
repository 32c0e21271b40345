"""One rank of the benchmark sharded: steps of trainings that shard, route and pipeline.

The first line of standard input says who and where this rank is, and over which backend; each
further line names a program and how many steps of it to take. All are JSON, and each is answered by
a line of JSON on standard output.
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
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.functional import mse_loss

import plink.torch  # noqa: F401 - it registers the backend
from benchkit.programs.meeting import rank_task

TIMEOUT_S = 900
LAYERS = 4
BATCH = 2

Step = Callable[[], None]


def main() -> None:
    """Meet the others, then do as told until standard input ends."""
    # Answers keep the real standard output; what libraries print goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    task = rank_task()
    if task["plan"]:
        os.environ["PLINK_PLAN"] = task["plan"]
    # A store of its own: jobs over other backends run beside this one.
    dist.init_process_group(
        task["backend"],
        init_method=f"tcp://{task['master']}:{task['port'] + task['job']}",
        rank=task["rank"],
        world_size=task["ranks"],
    )
    print(json.dumps({"rank": task["rank"]}), file=output)
    steps: dict[str, Step] = {}
    for line in sys.stdin:
        command = json.loads(line)
        name = command["program"]
        if name not in steps:
            steps[name] = PROGRAMS[name](command["width"])
        dist.barrier()
        began_s = time.monotonic()
        for _ in range(command["steps"]):
            steps[name]()
        took_s = (time.monotonic() - began_s) / command["steps"]
        print(json.dumps({"seconds": took_s}), file=output)
    dist.destroy_process_group()


def _model(width: int) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(LAYERS)))


def _training_step(model: nn.Module, optimizer: Any, width: int) -> Step:
    def step() -> None:
        optimizer.zero_grad()
        loss: Any = mse_loss(model(torch.randn(BATCH, width)), torch.randn(BATCH, width))
        loss.backward()
        optimizer.step()

    return step


def fully_sharded(width: int) -> Step:
    """FSDP2: all-gathers before each layer, forward and backward, reduce-scatters after it."""
    model = _model(width)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return _training_step(model, torch.optim.SGD(model.parameters(), lr=0.01), width)


def zero(width: int) -> Step:
    """ZeRO: DDP's all-reduces, then each rank broadcasts the parameters that it has updated."""
    model = nn.parallel.DistributedDataParallel(_model(width))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01)
    return _training_step(model, optimizer, width)


def experts(width: int) -> Step:
    """Two all-to-alls, there and back, of as many numbers as a layer has; uneven."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    share = width * width // ranks // ranks
    sent = [share + share * ((rank + other) % 3 - 1) // 2 for other in range(ranks)]
    tokens, there = torch.randn(sum(sent)), torch.empty(sum(sent))

    def step() -> None:
        dist.all_to_all_single(there, tokens, sent, sent)
        dist.all_to_all_single(tokens, there, sent, sent)

    return step


def pipeline(width: int) -> Step:
    """Activations to the next rank and gradients back, in four microbatches."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    size = width * width // 64

    def message() -> Tensor:
        return torch.randn(size)

    def step() -> None:
        for way in (1, -1):
            first, last = (0, ranks - 1) if way == 1 else (ranks - 1, 0)
            for _ in range(4):
                if rank != first:
                    dist.recv(message(), rank - way)
                if rank != last:
                    dist.send(message(), rank + way)

    return step


PROGRAMS: dict[str, Callable[[int], Step]] = {
    "FSDP2": fully_sharded,
    "ZeRO": zero,
    "experts": experts,
    "pipeline": pipeline,
}


if __name__ == "__main__":
    main()
