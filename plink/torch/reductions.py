"""Reductions of PyTorch that the engine runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.distributed import ReduceOp

# A backend for others would need their streams.
DEVICES = ("cpu", "cuda")

_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_INTEGERS = (torch.int32, torch.int64)
_OPS = {
    ReduceOp.SUM: "sum",
    ReduceOp.AVG: "mean",
    ReduceOp.MIN: "min",
    ReduceOp.MAX: "max",
    ReduceOp.BAND: "and",
}


def engine_op(tensors: Sequence[Tensor], opts: Any) -> str | None:
    """Return the engine's name of the operation on these tensors; None if the engine has none.

    It follows from the call alone, so that all ranks that call alike get the same.
    """
    if not tensors:
        return None
    first = tensors[0]
    op = _OPS.get(opts.reduceOp.op)
    if op is None or first.device.type not in DEVICES:
        return None
    if any(
        tensor.layout != torch.strided
        or tensor.dtype != first.dtype
        or tensor.device != first.device
        for tensor in tensors
    ):
        return None
    if first.dtype in _INTEGERS or (first.dtype in _FLOATS and op != "and"):
        return op
    return None


def options_of(kind: type[Any], given: Any) -> Any:
    """Return the caller's options, or new ones with the operation that the caller gave."""
    if hasattr(given, "reduceOp"):
        return given
    options = kind()
    options.reduceOp = given
    return options
