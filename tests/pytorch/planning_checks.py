"""Run on every rank: schedules that are planned from what passes were like."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from plink.base.errors import WrongUseError
from plink.torch import DataParallel, PlinkGroup
from plink.torch.overlap.planning import Planning, PlanningOptions
from pytorch.parallel_checks import averaged, gradients, same

_OFTEN = PlanningOptions(least_passes=5, settling_passes=5, least_window_s=0.0, most_passes=5)
_LAYERS = 12
_MOST_ROUNDS = 8


class Slow(nn.Module):
    """Whose backward pass takes some milliseconds a layer, differently on each rank."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        sizes = [8, 64, 8, 200] * (_LAYERS // 4)
        self.layers = nn.ModuleList(
            nn.Linear(one, other) for one, other in zip(sizes, [*sizes[1:], 8], strict=True)
        )
        self._rank = rank

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x))
            if x.requires_grad:
                x.register_hook(self._linger)
        return x

    def _linger(self, gradient: Tensor) -> Tensor:
        time.sleep(1e-3 * (1 + self._rank))
        return gradient


def _trained(model: DataParallel, rank: int, passes: int, found: list[Any]) -> None:
    """Every sum is compared with what one gets without plink's pool."""
    alone = Slow(0)
    for step in range(passes):
        source = torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank))
        model.zero_grad()
        model(source).square().sum().backward()
        found.append(model.arrangement)
        if step % 7 == 0:
            alone.zero_grad()
            alone(source).square().sum().backward()
            if not same(gradients(model), averaged(gradients(alone))):
                found.append("wrong")


def _arrangements(found: list[Any]) -> set[str]:
    """The same on all ranks, whatever else was found on one."""
    return {str(one) for one in found if one != "wrong"}


def planned(_say: Any, rank: int) -> tuple[int, bool, bool, list[str]]:
    """How many arrangements, whether all ranks had them at once, sums were right, what was done."""
    group = dist.group.WORLD
    assert isinstance(group, PlinkGroup)
    planning = Planning("optimal", group, torch.device("cpu"), _OFTEN)
    model = DataParallel(Slow(rank), planning)
    found: list[Any] = []
    # On a busy machine it takes more windows until something is known.
    for _ in range(_MOST_ROUNDS):
        _trained(model, rank, 31, found)
        if len(_arrangements(found)) > 1:
            break
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, found)
    report = planning.report
    done = [decision.name for _, decision in report.decisions]
    return (
        len(_arrangements(found)),
        all(one == ranks[0] for one in ranks),
        "wrong" not in found,
        done,
    )


def by_name(_say: Any, rank: int) -> list[str]:
    """What went wrong with all that can be said by name."""
    wrong = []
    for schedule in ("auto", "asc", "mg-wfbp", "optimal"):
        model = DataParallel(Slow(0), schedule)
        found: list[Any] = []
        _trained(model, rank, 2, found)
        if "wrong" in found or not isinstance(model.arranger, Planning):
            wrong.append(schedule)
    try:
        DataParallel(Slow(0), "asc", dist.new_group(backend="gloo"))
        wrong.append("gloo")
    except WrongUseError:
        pass
    return wrong


class Lingering(nn.Module):
    """Layers whose gradients are all the first value of the input, each after a while."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros(8192)) for _ in range(_LAYERS))

    def forward(self, values: Tensor) -> Tensor:
        total = values.sum() * 0.0
        for weight in self.weights:
            part = weight.sum() * values[0] + total
            part.register_hook(self._linger)
            total = part
        return total

    def _linger(self, gradient: Tensor) -> Tensor:
        time.sleep(0.012)
        return gradient


def throttled(say: Any, rank: int, over: str) -> tuple[int, list[Any]]:
    """Train until the file `over` is there; the number of wrong sums, and the arrangements.

    Rank 0 says after each pass how many windows there were, which pass of the next one this was,
    and how many collectives a pass has.
    """
    group, passes = dist.group.WORLD, 6
    assert isinstance(group, PlinkGroup)
    options = PlanningOptions(passes, passes, least_window_s=0.0, most_passes=passes)
    planning = Planning("auto", group, torch.device("cpu"), options)
    model = DataParallel(Lingering(), planning)
    net: Any = model.module
    wrong, number, arrangements = 0, 0, []
    last = torch.zeros(1)
    while not last.item():
        model.zero_grad()
        model(torch.full((1,), float(rank + number))).backward()
        mean = (dist.get_world_size() - 1) / 2 + number
        wrong += sum(not torch.allclose(one.grad, torch.tensor(mean)) for one in net.weights)
        if model.arrangement not in arrangements[-1:]:
            arrangements.append(model.arrangement)
        number += 1
        if rank == 0:
            say((planning.report.windows, number % passes, len(model.arrangement.cuts)))
        if number % passes == 0:
            last.fill_(float(Path(over).exists()))
            dist.broadcast(last, 0)
    return wrong, arrangements
