"""Run on every rank: plink.torch.DataParallel beside PyTorch's DistributedDataParallel."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from plink.torch import DataParallel

SCHEDULES = ("ddp", "wfbp", "single", "lazy(2KB)")


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(9, 30), nn.Tanh(), nn.Linear(30, 41), nn.Tanh(), nn.Linear(41, 7)
    )


def gradients(model: nn.Module) -> list[Tensor | None]:
    return [None if one.grad is None else one.grad.clone() for one in model.parameters()]


def trained(model: nn.Module, rank: int, steps: int = 4) -> list[Tensor | None]:
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(6, 9)).square().sum().backward()
        found += gradients(model)
        optimizer.step()
    return found


def like_ddp(say: Any, rank: int) -> dict[str, tuple[bool, float]]:
    """Whether gradients are DDP's to the bit, and how far they are from them at most."""
    net = network()
    wanted = trained(DistributedDataParallel(copy.deepcopy(net)), rank)
    said = {}
    for schedule in SCHEDULES:
        found = trained(DataParallel(copy.deepcopy(net), schedule), rank)
        pairs = list(zip(found, wanted, strict=True))
        said[schedule] = (
            all(torch.equal(a, b) for a, b in pairs),
            max(((a - b).abs().max() / b.abs().max()).item() for a, b in pairs),
        )
    return said
