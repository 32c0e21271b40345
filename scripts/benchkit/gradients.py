"""When a training's gradients are there, and in which buckets they are sent, as DDP does it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch._C._distributed_c10d import (
    _DEFAULT_FIRST_BUCKET_BYTES,
    _compute_bucket_assignment_by_size,
)

from benchkit.networks import Parameter, scale_lengths

# DistributedDataParallel's default; no bucket but the first waits for less.
BUCKET_CAP_BYTES = 25 * 1024 * 1024
# Backward computes two gradients, of weights and of inputs, where forward computes one product.
FORWARD_SHARE = 1 / 3


@dataclass(frozen=True)
class Bucket:
    """What one all-reduce carries.

    Args:
        tensors: indices of its parameters, in the order in which their gradients come.
        items: numbers in it.
        ready: share of an iteration's computing after which its last gradient is there.
    """

    tensors: tuple[int, ...]
    items: int
    ready: float


def buckets(parameters: Sequence[Parameter], scale: float = 1.0) -> list[Bucket]:
    """Buckets in the order of sending, as from the second iteration on.

    Gradients come in the reverse order of the layers. A layer computes for as long as it has
    multiply-adds.

    Args:
        parameters: in the order of the layers.
        scale: of every tensor's length, and of the buckets' sizes, so that the same tensors share
            a bucket.
    """
    lengths = scale_lengths(parameters, scale)
    order = list(reversed(range(len(parameters))))
    assigned, _ = _compute_bucket_assignment_by_size(
        # No memory, only sizes.
        [torch.empty(lengths[index], device="meta") for index in order],
        [int(size * scale) for size in (_DEFAULT_FIRST_BUCKET_BYTES, BUCKET_CAP_BYTES)],
        [False] * len(order),
        order,
    )
    work = [parameters[index].multiply_adds for index in order]
    done = dict(zip(order, itertools.accumulate(work), strict=True))
    return [
        Bucket(
            tensors=tuple(tensors),
            items=sum(lengths[index] for index in tensors),
            ready=FORWARD_SHARE
            + (1 - FORWARD_SHARE) * max(done[index] for index in tensors) / sum(work),
        )
        for tensors in assigned
    ]
