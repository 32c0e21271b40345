"""Run on every rank: trainings that shard, route and pipeline, on plink, again, and on Gloo."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.functional import mse_loss, one_hot

Program = Callable[[ProcessGroup, int, Path], list[Tensor]]

STEPS = 3


def _model(width: int = 30) -> nn.Sequential:
    """Layers whose parameters no number of ranks divides."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(width, 41), nn.Tanh(), nn.Linear(41, 7))


def _train(model: nn.Module, optimizer: Any, rank: int) -> None:
    torch.manual_seed(rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        mse_loss(model(torch.randn(8, 30)), torch.randn(8, 7)).backward()
        optimizer.step()


def fully_sharded(group: ProcessGroup, rank: int, folder: Path) -> list[Tensor]:
    from torch.distributed.fsdp import fully_shard

    model, mesh = _model(), DeviceMesh.from_group(group, "cpu")
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    _train(model, torch.optim.Adam(model.parameters(), lr=0.01), rank)
    return [_whole(one) for one in model.parameters()]


def redundancy_free(group: ProcessGroup, rank: int, folder: Path) -> list[Tensor]:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = nn.parallel.DistributedDataParallel(_model(), process_group=group)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.Adam, process_group=group, lr=0.01
    )
    _train(model, optimizer, rank)
    return [one.detach() for one in model.parameters()]


def experts(group: ProcessGroup, rank: int, folder: Path) -> list[Tensor]:
    """Each rank has an expert, to which all ranks send as many tokens as their gates choose."""
    from torch.distributed.nn import functional

    ranks = dist.get_world_size(group)
    torch.manual_seed(0)
    gate, expert = nn.Linear(5, ranks), nn.Linear(5, 5)
    optimizer = torch.optim.SGD([*gate.parameters(), *expert.parameters()], lr=0.1)
    torch.manual_seed(rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        tokens = torch.randn(20 + rank, 5)
        chances = gate(tokens).softmax(1)
        chosen = chances.argmax(1)
        order = chosen.argsort(stable=True)
        sent = one_hot(chosen, ranks).sum(0)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=group)
        counts = (received.tolist(), sent.tolist())
        there = torch.empty(int(received.sum()), 5)
        there = functional.all_to_all_single(there, tokens[order], *counts, group=group)
        back = torch.empty(len(tokens), 5)
        back = functional.all_to_all_single(back, expert(there), *counts[::-1], group=group)
        (back * chances[order].max(1, keepdim=True).values).square().mean().backward()
        for parameter in gate.parameters():
            dist.all_reduce(parameter.grad, group=group)
        optimizer.step()
    return [one.detach() for one in (*gate.parameters(), *expert.parameters())]


def pipelined(group: ProcessGroup, rank: int, folder: Path) -> list[Tensor]:
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    ranks = dist.get_world_size(group)
    torch.manual_seed(rank)
    layer = nn.Sequential(nn.Linear(9, 9), nn.Tanh())
    stage = PipelineStage(layer, rank, ranks, torch.device("cpu"), group=group)
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=mse_loss)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    torch.manual_seed(0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        inputs, wanted = torch.randn(12, 9), torch.randn(12, 9)
        schedule.step(
            *([inputs] if rank == 0 else []), target=wanted if rank == ranks - 1 else None
        )
        optimizer.step()
    return [one.detach() for one in layer.parameters()]


def distributed_tensors(group: ProcessGroup, rank: int, folder: Path) -> list[Tensor]:
    """Every change of placement, and a product of sharded matrices."""
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

    mesh = DeviceMesh.from_group(group, "cpu")
    torch.manual_seed(0)
    matrix = torch.randn(7, 11)
    rows = distribute_tensor(matrix, mesh, [Shard(0)])
    columns = rows.redistribute(mesh, [Shard(1)])
    own = DTensor.from_local(matrix * (rank + 1), mesh, [Partial()])
    made = [rows, columns, own.redistribute(mesh, [Shard(0)]), own, columns @ rows.t()]
    parts = [one.redistribute(mesh, [Replicate()]).to_local() for one in made]
    assert torch.equal(parts[0], matrix)
    assert torch.equal(parts[1], matrix)
    return parts


def checkpointed(group: ProcessGroup, rank: int, folder: Path) -> list[Tensor]:
    """Saved by shards, and read into a model that was sharded otherwise."""
    from torch.distributed import checkpoint
    from torch.distributed.fsdp import fully_shard

    mesh = DeviceMesh.from_group(group, "cpu")
    model, other = _model(), _model()
    with torch.no_grad():
        for one in other.parameters():
            one.zero_()
    for layer in (model, other[0], other[2], other):
        fully_shard(layer, mesh=mesh)
    saved, read = model.state_dict(), other.state_dict()
    checkpoint.save(saved, checkpoint_id=folder, process_group=group)
    checkpoint.load(read, checkpoint_id=folder, process_group=group)
    other.load_state_dict(read)
    weights = [_whole(one) for one in other.parameters()]
    assert all(map(torch.equal, weights, [one.detach() for one in _model().parameters()]))
    return weights


PROGRAMS: tuple[Program, ...] = (
    fully_sharded,
    redundancy_free,
    experts,
    pipelined,
    distributed_tensors,
    checkpointed,
)


def every_program(say: Any, rank: int, folder: str) -> dict[str, tuple[bool, bool]]:
    """By program whether weights are Gloo's but for rounding, and the same bits in a second run."""
    world = dist.group.WORLD
    assert world is not None
    gloo = dist.new_group(backend="gloo")
    found = {}
    for program in PROGRAMS:
        run = partial(_run, program, rank, Path(folder))
        first, second, theirs = run(world, "first"), run(world, "second"), run(gloo, "gloo")
        is_close = all(map(partial(torch.allclose, rtol=1e-4, atol=1e-6), first, theirs))
        found[program.__name__] = (is_close, all(map(torch.equal, first, second)))
    return found


def _run(program: Program, rank: int, folder: Path, group: ProcessGroup, turn: str) -> list[Tensor]:
    weights = program(group, rank, folder / f"{program.__name__}-{turn}")
    assert weights
    return weights


def _whole(parameter: Any) -> Tensor:
    whole: Tensor = parameter.full_tensor().detach()
    return whole
