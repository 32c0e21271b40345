"""Calls of the engine on the memory of flat CPU tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from plink.engine import Engine
from plink.torch.layouts import type_code
from plink.torch.pieces import PieceWork

# Begins the engine's collective on two buffers, of tensors of a type.
Begin = Callable[[Engine, Any, Any, torch.dtype], PieceWork]


def on_bytes(begin: Callable[[Engine, Any, Any, int], PieceWork]) -> Begin:
    """Return a call that passes flat CPU tensors to `begin` as bytes, with their type's code.

    All ranks must have the same code.
    """

    def on_buffers(engine: Engine, source: Tensor, result: Tensor, dtype: torch.dtype) -> PieceWork:
        given = _array(source)
        moved = given if result is source else _array(result)
        return begin(engine, given, moved, type_code(dtype))

    return on_buffers


def on_numbers(begin: Callable[[Engine, Any, Any, str], PieceWork]) -> Begin:
    """Return a call that passes flat CPU tensors to `begin`, with the name of their type."""

    def on_buffers(engine: Engine, source: Tensor, result: Tensor, dtype: torch.dtype) -> PieceWork:
        given = _array(source)
        reduced = given if result is source else _array(result)
        return begin(engine, given, reduced, str(dtype).removeprefix("torch."))

    return on_buffers


def _array(flat: Tensor) -> Any:
    return flat.view(torch.uint8).numpy()
