"""How much of a collective's tensors is each rank's."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def size_bytes(tensors: Sequence[Tensor]) -> int:
    """Of all of them."""
    return sum(tensor.nbytes for tensor in tensors)


def shares(tensors: Sequence[Tensor], ranks: int) -> list[int]:
    """Bytes by rank: of its tensor, or an equal part of the only one.

    Raises:
        ValueError: there is another number of tensors, or the only one has no equal parts.
    """
    if len(tensors) == ranks:
        return [tensor.nbytes for tensor in tensors]
    if len(tensors) == 1 and tensors[0].numel() % ranks == 0:
        return [tensors[0].nbytes // ranks] * ranks
    raise ValueError(f"there are {len(tensors)} tensors for {ranks} ranks")


def split_bytes(tensor: Tensor, splits: Sequence[int], ranks: int) -> list[int]:
    """Bytes by rank of one tensor.

    Args:
        tensor: of any shape.
        splits: along its first dimension, by rank; empty for equal parts.
        ranks: how many parts.

    Raises:
        ValueError: the parts do not make up the tensor.
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
    """Hold the larger and the smaller tensor of a collective to their sizes.

    Raises:
        ValueError: they have other sizes, or different types.
    """
    if whole.dtype != part.dtype:
        raise ValueError(f"the tensors of a {what} have different types")
    if whole.numel() != part.numel() * ranks:
        raise ValueError(
            f"of a {what}'s tensors the larger must be {ranks} times the smaller: they have "
            f"{whole.numel()} and {part.numel()} elements"
        )
