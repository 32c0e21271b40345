"""What each rank of `test_graph_mode.py` does."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import plink.torch
from plink.engine import Engine


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

    def forward(self, inputs: Tensor, order: Sequence[int] = ()) -> Tensor:
        for i in order or range(len(self.left)):
            inputs = inputs + self.left[i](inputs) + self.right[i](inputs)
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


def train(
    model: nn.Module, optimizer: Any, rank: int, steps: range, order: Sequence[int] = ()
) -> None:
    for step in steps:
        optimizer.zero_grad()
        loss = model(batch(rank, step), order).pow(2).mean()
        optimizer.learn(loss)
        loss.backward()
        optimizer.step()


def flat(model: nn.Module) -> list[float]:
    return torch.cat([one.detach().flatten() for one in model.parameters()]).tolist()


def normalizing(say: Any, rank: int) -> Any:
    """A model whose statistics are reduced forward and backward, in two branches at a time."""
    letters, said = Letters(), heard()
    model = Residual()
    optimizer = optimizer_of(model)
    sent = []
    for steps in (range(1), range(1, 2), range(2, 8)):
        train(model, optimizer, rank, steps)
        sent.append(letters.sent)
    return flat(model), sent, [text for _, text in said], alone(dist.get_world_size(), 8)


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
