"""What a collective is called with, as the native part takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import plink.engine._native as core
from plink.base.errors import WrongUseError

DTYPES = {name: getattr(core.DType, name) for name in core.DTYPE_BYTES}
OPS = {
    "sum": core.Op.sum,
    "mean": core.Op.mean,
    "min": core.Op.min,
    "max": core.Op.max,
    "and": core.Op.and_,
}


def native_op(op: str) -> core.Op:
    """The native part's name of an operation.

    Raises:
        WrongUseError: there is no such operation.
    """
    try:
        return OPS[op]
    except KeyError:
        raise WrongUseError(f"no operation is called {op}", f"there are {', '.join(OPS)}") from None


def shape_of(array: Any, dtype: str | None) -> tuple[int, core.DType]:
    """Items and type of a buffer.

    Raises:
        WrongUseError: the engine has no such type, or the bytes are no whole number of items.
    """
    if not hasattr(array, "dtype") or not hasattr(array, "nbytes"):
        array = np.asarray(array)
    name = dtype or str(array.dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise WrongUseError(f"no collective of {name}", f"there are {', '.join(DTYPES)}")
    items, rest = divmod(array.nbytes, core.DTYPE_BYTES[name])
    if rest:
        raise WrongUseError(f"{array.nbytes} bytes are no whole number of {name}")
    return items, DTYPES[name]


def even_counts(items: int, ranks: int, what: str) -> list[int]:
    """A segment of the same length for each rank.

    Raises:
        WrongUseError: the items cannot be divided so.
    """
    count, rest = divmod(items, ranks)
    if rest:
        raise WrongUseError(
            f"the {what} has {items} items, which {ranks} ranks cannot share evenly",
            "give `counts`, the items of each rank",
        )
    return [count] * ranks


def whole_counts(counts: Sequence[int], ranks: int) -> list[int]:
    """Items by rank, as a caller gives them.

    Raises:
        WrongUseError: there are not as many as ranks, or one is negative.
    """
    if len(counts) != ranks or any(count < 0 for count in counts):
        raise WrongUseError(f"{list(counts)} are not the counts of {ranks} ranks")
    return [int(count) for count in counts]
