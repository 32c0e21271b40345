"""Checks that a module can be trained data-parallel, and is the same on all ranks."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import torch.distributed as dist
from torch import nn
from torch.distributed import ProcessGroup
from torch.nn.parameter import is_lazy

from plink.base.errors import WrongUseError


def refuse(module: nn.Module) -> None:
    """Refuse modules whose parameters are sharded or have no shape yet.

    Raises:
        WrongUseError: parameters are sharded, or not there yet.
    """
    # What has not been imported cannot be in use.
    tensors = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", ())
    sharded = getattr(sys.modules.get("torch.distributed.fsdp"), "FullyShardedDataParallel", ())
    if any(isinstance(one, sharded) for one in module.modules()) or any(
        isinstance(one, tensors) for one in module.parameters()
    ):
        raise WrongUseError(
            "parameters are sharded (FSDP, DTensor), which reduces gradients by itself",
            "use it without plink.torch.DataParallel, or unshard the module",
        )
    if any(is_lazy(one) for one in module.parameters()):
        raise WrongUseError(
            "parameters have no shape yet", "run a forward pass of the module before"
        )


def verify_same(module: nn.Module, group: ProcessGroup) -> None:
    """Check that the module is the same on all ranks of the group.

    Raises:
        WrongUseError: parameters or buffers differ: on all ranks, with the first difference.
    """
    own = _describe_module(module)
    digest = hashlib.sha256(repr(own).encode()).hexdigest()
    digests: list[Any] = [None] * group.size()
    dist.all_gather_object(digests, digest, group=group)
    if len(set(digests)) == 1:
        return
    # By rank 0's and by the first that differs, so that all ranks say the same.
    other = next(rank for rank, one in enumerate(digests) if one != digests[0])
    of_ranks: list[Any] = [None] * group.size()
    dist.all_gather_object(of_ranks, own, group=group)
    raise WrongUseError(
        f"rank {other}'s module is not rank 0's: {_difference(of_ranks[0], of_ranks[other])}",
        "give each rank the same module",
    )


def _describe_module(module: nn.Module) -> list[tuple[str, str]]:
    return [
        (
            f"parameter '{name}'",
            f"{tuple(one.shape)} {one.dtype}{'' if one.requires_grad else ' frozen'}",
        )
        for name, one in module.named_parameters()
    ] + [
        (f"buffer '{name}'", f"{tuple(one.shape)} {one.dtype}")
        for name, one in module.named_buffers()
    ]


def _difference(first: list[tuple[str, str]], other: list[tuple[str, str]]) -> str:
    """Return a text of the first difference between two descriptions."""
    for (name, what), (other_name, other_what) in zip(first, other, strict=False):
        if name != other_name:
            return f"it has {other_name} where that has {name}"
        if what != other_what:
            return f"its {name} is {other_what}, that one's {what}"
    longer, whose = (first, "rank 0's") if len(first) > len(other) else (other, "its")
    return f"{longer[min(len(first), len(other))][0]} is {whose} alone"
