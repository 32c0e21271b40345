"""The memory of tensors, as calls of the engine take it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plink.engine import Engine
from plink.torch.pieces import PieceWork

# Begins the engine's collective on two buffers.
Begin = Callable[[Engine, Any, Any], PieceWork]


def on_bytes(begin: Callable[[Engine, Any, Any], PieceWork]) -> Begin:
    """A call that moves bytes, whatever they mean, on flat tensors of the CPU."""

    def on_buffers(engine: Engine, source: Tensor, result: Tensor) -> PieceWork:
        given = _array(source)
        return begin(engine, given, given if result is source else _array(result))

    return on_buffers


def on_numbers(begin: Callable[[Engine, Any, Any, str], PieceWork]) -> Begin:
    """A call that reduces, and so is told the type, on flat tensors of the CPU."""

    def on_buffers(engine: Engine, source: Tensor, result: Tensor) -> PieceWork:
        dtype = str(source.dtype).removeprefix("torch.")
        given = _array(source)
        return begin(engine, given, given if result is source else _array(result), dtype)

    return on_buffers


def _array(flat: Tensor) -> Any:
    return flat.view(torch.uint8).numpy()
