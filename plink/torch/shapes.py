"""Checks of a collective's tensors for the engine, and bytes by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from plink.torch.reductions import DEVICES


def is_listed(tensors: Any) -> bool:
    """Return whether the argument is a list of tensors and not a single tensor."""
    return not isinstance(tensors, Tensor)


def is_nested(tensors: Any) -> bool:
    """Return whether the argument is a list of one list of tensors."""
    return is_listed(tensors) and len(tensors) == 1 and is_listed(tensors[0])


def can_gather(many: Any, one: Any) -> bool:
    """Return whether `many` is empty or has a list of tensors, and `one` a tensor of that type."""
    if not is_listed(many) or not is_listed(one) or len(one) != 1:
        return False
    if len(many) > 0 and not is_nested(many):
        return False
    return can_move([*(many[0] if many else ()), *one])


def can_move(tensors: Sequence[Tensor]) -> bool:
    """Return whether the engine can move these tensors: dense, of one type on one device."""
    if not tensors:
        return False
    first = tensors[0]
    return first.device.type in DEVICES and all(
        tensor.layout == torch.strided
        and tensor.dtype == first.dtype
        and tensor.device == first.device
        for tensor in tensors
    )


def size_bytes(tensors: Sequence[Tensor]) -> int:
    """Return the bytes of all tensors together."""
    return sum(tensor.nbytes for tensor in tensors)


def shares(tensors: Sequence[Tensor], ranks: int) -> list[int]:
    """Return bytes by rank: those of its tensor, or an equal part of a single one.

    Raises:
        ValueError: there is neither a tensor for each rank nor one for all.
    """
    if len(tensors) == ranks:
        return [tensor.nbytes for tensor in tensors]
    if len(tensors) == 1 and tensors[0].numel() % ranks == 0:
        return [tensors[0].nbytes // ranks] * ranks
    raise ValueError(f"there are {len(tensors)} tensors for {ranks} ranks")


def split_bytes(tensor: Tensor, splits: Sequence[int], ranks: int) -> list[int]:
    """Return bytes by rank of a tensor split along its first dimension, evenly by default.

    Raises:
        ValueError: it cannot be split so.
    """
    rows = tensor.shape[0] if tensor.dim() > 0 else 1
    if not splits:
        if rows % ranks:
            raise ValueError(f"{rows} rows cannot be split evenly among {ranks} ranks")
        return [tensor.nbytes // ranks] * ranks
    if len(splits) != ranks or sum(splits) != rows or min(splits) < 0:
        raise ValueError(f"the splits {list(splits)} are not {ranks} parts of {rows} rows")
    row_bytes = tensor.nbytes // rows if rows else 0
    return [rows_of_rank * row_bytes for rows_of_rank in splits]


def check_sizes(what: str, whole: Tensor, part: Tensor, ranks: int) -> None:
    """Check that `whole` is of the type of `part` and has `ranks` times as many elements.

    Raises:
        ValueError: another type or size.
    """
    if whole.dtype != part.dtype:
        raise ValueError(f"{what}: the tensors have different types")
    if whole.numel() != part.numel() * ranks:
        raise ValueError(
            f"{what}: the larger tensor must have {ranks} times as many elements as the smaller; "
            f"they have {whole.numel()} and {part.numel()}"
        )
