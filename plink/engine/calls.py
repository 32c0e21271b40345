"""Checks of a collective's arguments, and their conversion for the native engine."""

from __future__ import annotations

import operator
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

_MOST_ITEMS = 2**60


def native_op(op: str) -> core.Op:
    """Return the native operation of a name such as `sum`.

    Raises:
        WrongUseError: there is no such operation.
    """
    try:
        return OPS[op]
    except KeyError:
        raise WrongUseError(f"no operation is called {op}", f"there are {', '.join(OPS)}") from None


def shape_of(array: Any, dtype: str | None) -> tuple[int, core.DType]:
    """Return the number of items and the native type of a buffer.

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
    """Return equal segment lengths for all ranks, in items.

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
    """Check the items per rank that a caller gives and return them as integers.

    Raises:
        WrongUseError: there are not as many as ranks, or one is no whole number from 0 on.
    """
    if len(counts) != ranks:
        raise WrongUseError(f"{list(counts)} are not the counts of {ranks} ranks")
    return [whole(count, "a count", 0, _MOST_ITEMS) for count in counts]


def whole(value: Any, what: str, least: int, most: int) -> int:
    """Check that a caller's value is a whole number within limits and return it.

    Raises:
        WrongUseError: it is something else.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise WrongUseError(f"{what} is a whole number, not {value!r}") from None
    if not least <= number <= most:
        raise WrongUseError(f"{what} is between {least} and {most}, not {number}")
    return number


def check_apart(source: Any, result: Any, place_items: int | None, item_bytes: int) -> None:
    """Check that arrays share no memory, or that the smaller lies in the larger at its place.

    Args:
        source: what is read.
        result: what is written to.
        place_items: where the smaller may begin in the larger; None for nowhere.
        item_bytes: the size of an item.

    Raises:
        WrongUseError: they overlap otherwise: what is yet to be sent would be overwritten.
    """
    if not np.may_share_memory(source, result):
        return
    inner, outer = sorted(map(np.asarray, (source, result)), key=lambda array: array.nbytes)
    begin_bytes = inner.ctypes.data - outer.ctypes.data
    if place_items is None or begin_bytes != place_items * item_bytes:
        raise WrongUseError(
            "the arrays of a collective overlap", "give it an array of its own for the result"
        )
