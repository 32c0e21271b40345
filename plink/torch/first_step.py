"""Check at the first step that all ranks start from the same weights and options.

One all-reduce of whole numbers tells: of n numbers all are equal if and only if n times the sum of
their squares is the square of their sum (Cauchy-Schwarz). A rank that has joined contributes
zeros, which count as no rank.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import Optimizer

from plink.base.errors import WrongUseError
from plink.torch.staging import flatten

# Squares of that many bits, summed over up to 32,768 ranks, fit into 63.
_DIGEST_BITS = 24
# How a step is computed, not what.
_WAYS = ("params", "foreach", "fused", "capturable", "differentiable")


class FirstStep:
    """Digests of this rank's weights and options, to be summed over all ranks.

    Args:
        optimizer: whose options count.
        parameters: by name.
    """

    def __init__(self, optimizer: Optimizer, parameters: Mapping[str, Parameter]) -> None:
        self._names = [f"the weights of '{name}'" for name in parameters]
        self._names.append("the options of the optimizer")
        digests = [_digest_of_weights(parameter) for parameter in parameters.values()]
        digests.append(_digest(json.dumps(_options(optimizer)).encode()))
        squares = [digest**2 for digest in digests]
        self.tensor = torch.tensor([1, *digests, *squares], dtype=torch.int64)
        """To be reduced to its sum."""

    def verify(self) -> None:
        """Compare the digests of all ranks, once the tensor is reduced to its sum.

        Raises:
            WrongUseError: weights or options differ, on all ranks that took part.
        """
        ranks, *sums = self.tensor.tolist()
        count = len(self._names)
        for name, total, squares in zip(self._names, sums[:count], sums[count:], strict=True):
            if ranks * squares != total**2:
                raise WrongUseError(
                    f"ranks differ in {name} at the first step",
                    "load the same checkpoint on all ranks, or broadcast each parameter of rank 0 "
                    "before: torch.distributed.broadcast(parameter.data, 0)",
                )


def _digest_of_weights(parameter: Parameter) -> int:
    flat = flatten(parameter.detach().cpu())
    return _digest(flat.view(torch.uint8).numpy())


def _digest(data: Any) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=_DIGEST_BITS // 8).digest(), "big")


def _options(optimizer: Optimizer) -> list[list[Any]]:
    """Return the options of each group: each option's name and the numbers in its value."""
    return [
        [
            [name, list(_numbers(value))]
            for name, value in sorted(group.items())
            if name not in _WAYS
        ]
        for group in optimizer.param_groups
    ]


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool | int | float) or (isinstance(value, Tensor) and value.numel() == 1):
        yield float(value)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _numbers(member)
