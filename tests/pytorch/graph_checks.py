"""What each rank of `test_graph_mode.py` does."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import plink.torch
from plink.engine import Engine

_PATIENCE_S = 40.0


class Letters:
    """How many messages this rank has sent to agree on anything."""

    def __init__(self) -> None:
        self.sent = 0
        post = Engine.post_letter

        def counted(engine: Engine, rank: int, letter: bytes) -> None:
            self.sent += 1
            post(engine, rank, letter)

        Engine.post_letter = counted  # type: ignore[method-assign,assignment]


def heard() -> list[tuple[float, str]]:
    """All warnings from now on, and when."""
    said: list[tuple[float, str]] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append((time.monotonic(), record.getMessage()))

    logging.getLogger("plink.torch.named").addHandler(Ear())
    return said


class _MeanOfAll(torch.autograd.Function):
    """Subtracts the mean over the batches of all ranks: it is reduced forward and backward."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, name: str) -> Tensor:
        ctx.name = name
        mean = inputs.mean(0)
        plink.torch.all_reduce(mean, f"{name} forward", op=dist.ReduceOp.AVG).wait()
        return inputs - mean

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        mean = gradients[0].mean(0)
        plink.torch.all_reduce(mean, f"{ctx.name} backward", op=dist.ReduceOp.AVG).wait()
        return gradients[0] - mean, None


class Normalized(nn.Module):
    """A linear layer with what batch normalisation has in common with it over all ranks."""

    def __init__(self, name: str, width: int) -> None:
        super().__init__()
        self.name = name
        self.linear = nn.Linear(width, width)
        self.is_alone = False

    def forward(self, inputs: Tensor) -> Tensor:
        out: Tensor = self.linear(inputs)
        if self.is_alone:
            return torch.tanh(out - out.mean(0))
        normalized: Tensor = _MeanOfAll.apply(out, self.name)  # type: ignore[no-untyped-call]
        return torch.tanh(normalized)


class Residual(nn.Module):
    """Two branches beside each other, each normalised: neither depends on the other."""

    def __init__(self, depth: int = 3, width: int = 6) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.left = nn.ModuleList(Normalized(f"left {i}", width) for i in range(depth))
        self.right = nn.ModuleList(Normalized(f"right {i}", width) for i in range(depth))
        self.unused = nn.Linear(2, 2)
        self.head = nn.Linear(width, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        for left, right in zip(self.left, self.right, strict=True):
            inputs = inputs + left(inputs) + right(inputs)
        out: Tensor = self.head(inputs)
        return out


def optimizer_of(model: nn.Module, **more: Any) -> plink.torch.DistributedOptimizer:
    return plink.torch.DistributedOptimizer(
        torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        model.named_parameters(),
        **more,
    )


def batch(rank: int, step: int, width: int = 6) -> Tensor:
    return torch.randn(4, width, generator=torch.Generator().manual_seed(99 * step + rank))


def train(model: nn.Module, optimizer: Any, rank: int, steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        loss = model(batch(rank, step)).pow(2).mean()
        optimizer.learn(loss)
        loss.backward()
        optimizer.step()


def flat(model: nn.Module) -> list[float]:
    return torch.cat([one.detach().flatten() for one in model.parameters()]).tolist()


def normalizing(say: Any, rank: int) -> Any:
    """A model whose statistics are reduced forward and backward, in two branches at a time; then
    what else a program does.
    """
    letters, said = Letters(), heard()
    model = Residual()
    optimizer = optimizer_of(model)
    sent = []
    for steps in (range(1), range(1, 2), range(2, 8)):
        train(model, optimizer, rank, steps)
        sent.append(letters.sent)
    trained = flat(model), sent, len(said), alone(dist.get_world_size(), 8)
    parts = [
        validating(model, optimizer, rank, letters),
        stalling(rank),
        misusing(rank),
        losing(rank),
    ]
    return trained, *parts, [text for _, text in said]


def validating(model: nn.Module, optimizer: Any, rank: int, letters: Letters) -> Any:
    """Between iterations something else is reduced, with and without a name."""
    metric, count = torch.ones(3) * rank, torch.ones(2)
    pending = plink.torch.all_reduce(metric, "metric")
    dist.all_reduce(count)
    dist.barrier()
    pending.wait()
    train(model, optimizer, rank, range(8, 11))
    before = letters.sent
    train(model, optimizer, rank, range(11, 13))
    return metric.tolist(), count.tolist(), letters.sent - before


def stalling(rank: int) -> Any:
    """One rank is late, in a group of its own whose ranks are soon told so."""
    control = plink.torch.Control(mode="graph", stall_warning_s=1.0)
    group = dist.new_group(pg_options=plink.torch.Options(control=control))
    model = Chain()
    optimizer = optimizer_of(model, group=group)

    def step(number: int) -> None:
        optimizer.zero_grad()
        loss = model(batch(rank, number), [0, 1, 2, 3]).pow(2).mean()
        optimizer.learn(loss)
        loss.backward()
        optimizer.step()

    for number in range(3):
        step(number)
    said = heard()
    # Before the last step in which nobody is late, so before any rank can begin the next.
    began = time.monotonic()
    step(3)
    while rank == 2 and not any("for rank 2;" in text for _, text in said):
        assert time.monotonic() < began + _PATIENCE_S, said
        time.sleep(0.02)
    step(4)
    return [(at - began, text) for at, text in said]


def misusing(rank: int) -> Any:
    """What comes out of turn, is pending, or joins."""
    refused = []
    value = torch.ones(1) * rank
    work = plink.torch.all_reduce(value, "head.bias", op=dist.ReduceOp.AVG)
    for call in (lambda: plink.torch.all_reduce(torch.ones(1), "head.bias"), plink.torch.join):
        try:
            call()
        except dist.DistBackendError as error:
            refused.append(str(error))
    work.wait()
    other = plink.torch.all_reduce(torch.ones(4 + (rank == 1)), "other")
    try:
        other.wait()
    except dist.DistBackendError as error:
        refused.append(str(error))
    return value.tolist(), refused


def losing(rank: int) -> Any:
    """One rank ends while the others wait for it."""
    work = None if rank == 1 else plink.torch.all_reduce(torch.ones(1), "head.bias")
    if rank == 1:
        time.sleep(0.1)
        dist.destroy_process_group()
        return "left"
    try:
        work.wait()
    except dist.DistBackendError as error:
        dist.destroy_process_group()
        return str(error)
    return "no error"


def alone(ranks: int, steps: int) -> list[float]:
    """The same on one process that has all data."""
    model = Residual()
    for one in model.modules():
        if isinstance(one, Normalized):
            one.is_alone = True
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.cat([batch(rank, step) for rank in range(ranks)])).pow(2).mean().backward()
        optimizer.step()
    return flat(model)


def branching(say: Any, rank: int) -> Any:
    """Ranks whose layers run in different orders, or whose gradients are all there is."""
    said = heard()
    model = Chain()
    optimizer = optimizer_of(model, groups=3)
    orders = [[0, 1, 2, 3], [3, 1, 0, 2]]
    for step in range(3):
        optimizer.zero_grad()
        loss = model(batch(rank, step), orders[rank % 2]).pow(2).mean()
        optimizer.learn(loss)
        loss.backward()
        optimizer.step()
    # The last step has offered an order again, which ranks refuse when nobody waits for it.
    dist.barrier()
    return flat(model), [text for _, text in said], deterministic(rank), accumulating(rank)


class Chain(nn.Module):
    """Layers one after the other, in any order."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, inputs: Tensor, order: Sequence[int]) -> Tensor:
        for i in order:
            inputs = torch.tanh(self.layers[i](inputs))
        return inputs


def deterministic(rank: int) -> Any:
    """Two trainings with different timing, and whether all numbers are the same."""
    found = []
    control = plink.torch.Control(mode="graph")
    for again in range(2):
        options = plink.torch.Options(deterministic=True, control=control)
        group = dist.new_group(pg_options=options)
        model = Chain(64)
        slow = random.Random(10 * rank + again)
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                lambda _, slow=slow: time.sleep(slow.choice([0.0, 0.003]))
            )
        optimizer = optimizer_of(model, group=group)
        for step in range(4):
            optimizer.zero_grad()
            loss = model(batch(rank, step, 64), [0, 1, 2, 3]).pow(2).mean()
            optimizer.learn(loss)
            loss.backward()
            optimizer.step()
        found.append(flat(model))
        dist.destroy_process_group(group)
    return found[0] == found[1]


def accumulating(rank: int) -> Any:
    """Groups of gradients that two backward passes add up."""
    said, letters = heard(), Letters()
    group = dist.new_group(
        pg_options=plink.torch.Options(control=plink.torch.Control(mode="graph"))
    )
    model = Chain(8)
    optimizer = optimizer_of(model, group=group, groups=3, backward_passes_per_step=2)
    for step in range(6):
        optimizer.zero_grad()
        for again in range(2):
            loss = model(batch(rank, 2 * step + again, 8), [0, 1, 2, 3]).pow(2).mean()
            optimizer.learn(loss)
            loss.backward()
        optimizer.step()
        if step == 2:
            before = letters.sent
    found = flat(model), letters.sent - before, [text for _, text in said]
    # Who hears that another rank has left passes that on.
    dist.barrier()
    dist.destroy_process_group(group)
    return found
