"""Refusals of models that cannot train on some gradients, and of options that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import ProcessGroup
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from plink.base.arguments import check_flag, check_real
from plink.base.errors import WrongUseError


def refuse(model: Any, momentum: float, *, nesterov: bool) -> None:
    """Refuse models and factors that SparseSGD cannot train.

    Raises:
        WrongUseError: the model or a factor is one of these.
    """
    if isinstance(model, Optimizer):
        raise WrongUseError(
            f"{type(model).__name__} cannot step with some of its gradients: CSC is defined for "
            "SGD with momentum alone",
            "give the module to SparseSGD, which steps it",
        )
    if isinstance(model, DistributedDataParallel):
        raise WrongUseError(
            "DistributedDataParallel sends all gradients by itself", "give model.module"
        )
    if not isinstance(model, nn.Module):
        raise WrongUseError("SparseSGD takes the module that it trains, not its parameters")
    check_flag("nesterov", nesterov)
    check_real("momentum", momentum)
    if not 0 <= momentum < 1 or (nesterov and momentum == 0):
        raise WrongUseError(
            f"momentum cannot be {momentum}", "it is from 0 to less than 1; Nesterov's is positive"
        )


def verify_same(options: Mapping[str, Any], group: ProcessGroup) -> None:
    """Check that options are the same on all ranks of the group.

    Raises:
        WrongUseError: an option differs, on all ranks.
    """
    of_ranks: list[Any] = [None] * group.size()
    dist.all_gather_object(of_ranks, dict(options), group=group)
    for rank, others in enumerate(of_ranks):
        for name, value in of_ranks[0].items():
            if others[name] != value:
                raise WrongUseError(
                    f"rank {rank} has {name}={others[name]}, and rank 0 {name}={value}",
                    "give all ranks the same options",
                )


class OptionCheck:
    """Comparison of a step's options over all ranks, by a small all-reduce.

    Args:
        options: by name, with their values on this rank.
        device: of the tensor that is sent.
    """

    def __init__(self, options: Mapping[str, float], device: torch.device) -> None:
        self._names = list(options)
        values = torch.tensor(list(options.values()), dtype=torch.float64)
        self.tensor = torch.cat((values, -values)).to(device)
        """To be reduced to its maximum over all ranks."""

    def verify(self) -> None:
        """Compare the options of all ranks, once the tensor is reduced to its maximum.

        Raises:
            WrongUseError: an option differs, on all ranks.
        """
        most, least = self.tensor.cpu().chunk(2)
        for name, low, high in zip(self._names, (-least).tolist(), most.tolist(), strict=True):
            if low != high:
                raise WrongUseError(
                    f"ranks differ in {name}: it is {low:g} on one, and {high:g} on another",
                    "give all ranks the same options, and let them change alike",
                )
