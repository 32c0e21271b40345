"""Run on every rank: collectives whose tensors share memory."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist


def overlapping(say: Any, rank: int) -> list[Any]:
    """Results that lie where what is sent lies, too, at another place than the rank's own."""
    ranks, items = dist.get_world_size(), 200_000
    exchanged = torch.arange(ranks).repeat_interleave(items) + 10.0 * rank
    dist.all_to_all_single(exchanged, exchanged)
    gathered = torch.full((ranks * items,), float(rank))
    dist.all_gather_into_tensor(gathered, gathered[:items])
    summed = torch.arange(ranks).repeat_interleave(items).float()
    dist.reduce_scatter_tensor(summed[:items], summed)
    return [
        [part.unique().tolist() for part in exchanged.split(items)],
        [part.unique().tolist() for part in gathered.split(items)],
        summed[:items].unique().tolist(),
    ]
