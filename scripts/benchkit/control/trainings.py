"""Trainings in turn in one process: by DDP on a plain group, by DistributedOptimizer on one that
agrees."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel

import plink.torch
from benchkit.control.rank import Rank
from plink.torch import Control, Options
from plink.torch.gradient_groups import Groups

SAMPLES = 4
RATE = 0.1
# Not counted: DDP learns the order of gradients from the first, and memory is paged in.
WARM_UPS = 2


@dataclass(frozen=True)
class Way:
    """How gradients are reduced.

    Args:
        name: of it.
        bucket_mb: of DistributedDataParallel at most; None for DistributedOptimizer.
        groups: of DistributedOptimizer.
    """

    name: str
    bucket_mb: float | None = None
    groups: Groups = None

    @property
    def is_ddp(self) -> bool:
        """Whether it is DistributedDataParallel's."""
        return self.bucket_mb is not None


@dataclass
class Steps:
    """Of one way in one case, on one rank.

    Args:
        seconds: of each round, a step.
        cpu_s: the same of the processor, in all threads.
        losses: of each step of all rounds.
    """

    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def add(self, measured: tuple[float, float, list[float]]) -> None:
        """A round, as `time_steps` gives it."""
        seconds, used_s, losses = measured
        self.seconds.append(seconds)
        self.cpu_s.append(used_s)
        self.losses.extend(losses)


class Training:
    """A model, and what steps it.

    Args:
        model: of this rank, made alike on all.
        way: how gradients are reduced.
        agreeing: the group in which ranks agree; DDP has the default group.
    """

    def __init__(self, model: nn.Module, way: Way, agreeing: Any) -> None:
        plain = torch.optim.SGD(model.parameters(), lr=RATE)
        self._model: nn.Module = model
        self._optimizer: Any = plain
        self._agrees = not way.is_ddp
        if way.is_ddp:
            self._model = DistributedDataParallel(
                model, bucket_cap_mb=way.bucket_mb, gradient_as_bucket_view=True
            )
        else:
            named = model.named_parameters()
            self._optimizer = plink.torch.DistributedOptimizer(
                plain, named, groups=way.groups, group=agreeing
            )

    def step(self, inputs: Tensor, labels: Tensor, order: Sequence[int]) -> float:
        """The loss before the step."""
        self._optimizer.zero_grad()
        loss: Any = mse_loss(self._model(inputs, order), labels)
        if self._agrees:
            self._optimizer.learn(loss)
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())


@contextmanager
def both_groups(rank: Rank, name: str) -> Iterator[Any]:
    """Within it the default group is a plain one, and the one that this gives agrees in a tree."""
    with rank.group(name, None):
        yield dist.new_group(backend="plink", pg_options=Options(control=Control()))


def time_steps(
    training: Training, data: Sequence[tuple[Tensor, Tensor]], orders: Sequence[Sequence[int]]
) -> tuple[float, float, list[float]]:
    """Seconds and processor seconds of a step, and losses, after all ranks have come here."""
    dist.barrier()
    used_s, began_s = time.process_time(), time.monotonic()
    losses = [training.step(*one, order) for one, order in zip(data, orders, strict=True)]
    took_s, used_s = time.monotonic() - began_s, time.process_time() - used_s
    return took_s / len(orders), used_s / len(orders), losses


def draw_data(rank: int, width: int, steps: int, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Inputs and labels of a rank's steps."""
    generator = torch.Generator().manual_seed(1000 * seed + rank)
    shape = (2, SAMPLES, width)
    pairs = (torch.randn(shape, generator=generator) for _ in range(steps))
    return [(pair[0], pair[1]) for pair in pairs]


def slowest(of_ranks: Sequence[Steps], figure: Callable[[Steps], Sequence[float]]) -> list[float]:
    """By round the figure of the slowest rank."""
    return [max(one) for one in zip(*(figure(steps) for steps in of_ranks), strict=True)]


def median_s(of_ranks: Sequence[Steps]) -> float:
    """A step of all ranks takes as long as on the slowest."""
    return statistics.median(slowest(of_ranks, lambda steps: steps.seconds))


def cpu_s(of_ranks: Sequence[Steps]) -> float:
    """Of a step on all ranks together."""
    return statistics.median(map(sum, zip(*(steps.cpu_s for steps in of_ranks), strict=True)))
