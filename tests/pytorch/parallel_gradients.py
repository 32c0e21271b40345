"""Gradients of a small network on each rank, and what they are on average."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from plink.torch import DataParallel

Gradients = dict[str, Tensor | None]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(9, 30), nn.Tanh(), nn.Linear(30, 41), nn.Tanh(), nn.Linear(41, 7)
    )


def inputs(rank: int, step: int = 0) -> Tensor:
    return torch.randn(6, 9, generator=torch.Generator().manual_seed(100 * step + rank))


def gradients(model: nn.Module) -> Gradients:
    """By the names that the module inside has."""
    inner = model.module if isinstance(model, DataParallel) else model
    return {
        name: None if one.grad is None else one.grad.clone()
        for name, one in inner.named_parameters()
    }


def averaged(own: Gradients) -> Gradients:
    """Over ranks, one after the other; None of ranks where there is none counts as zeros."""
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, own)
    found: Gradients = {}
    for name in own:
        here = [one[name] for one in ranks if one[name] is not None]
        found[name] = sum(here) / len(ranks) if here else None
    return found


def same(found: Gradients, wanted: Gradients, most: float = 1e-5) -> bool:
    for name, one in found.items():
        other = wanted[name]
        if one is None or other is None:
            if one is not other:
                return False
        elif (one - other).abs().max() > most * max(1.0, float(other.abs().max())):
            return False
    return True
