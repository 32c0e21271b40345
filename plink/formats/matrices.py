"""Matrices in files: conversion from JSON rows to arrays, and limits on their values.

In JSON a matrix is a list of rows, null where a pair is unknown. In the binary form it is an array
that lies in the file itself: it is checked a few rows at a time and never copied as a whole.
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

import numpy as np
import numpy.typing as npt
from msgspec import Meta

Matrix = npt.NDArray[np.float64]
# Whole numbers of any width: what was read is as wide as its largest number needs.
Counts = npt.NDArray[np.integer[Any]]
Array = npt.NDArray[np.float64] | npt.NDArray[np.integer[Any]]

BLOCK_BYTES = 1 << 22
MAX_COUNT = (1 << 53) - 1

# The type of what is decoded, by that of the annotation.
_DTYPES: dict[Any, Any] = {np.float64: np.float64, np.integer: np.int64, np.int32: np.int32}

_Number = TypeVar("_Number", bound=np.generic)


def constrain_rows(kind: str, high: float, *, may_be_unknown: bool = True) -> Meta:
    """Return the msgspec constraint of a matrix whose numbers are from 0 to `high`.

    It is part of the JSON Schema, and what reads a file checks it (`find_row_limits`).

    Args:
        kind: `number` or `integer`.
        high: largest number.
        may_be_unknown: null stands for a pair that was not measured.
    """
    item = {"type": [kind, "null"] if may_be_unknown else kind, "minimum": 0, "maximum": high}
    return Meta(extra_json_schema={"items": {"type": "array", "items": item}})


def find_row_limits(hint: Any) -> Mapping[str, Any]:
    """Return the type and limits of a matrix's numbers from its annotation; {} if it has none."""
    for constraint in getattr(hint, "__metadata__", ()):
        if isinstance(constraint, Meta) and constraint.extra_json_schema is not None:
            limits: Mapping[str, Any] = constraint.extra_json_schema["items"]["items"]
            return limits
    return next((found for part in get_args(hint) if (found := find_row_limits(part))), {})


def decode_array(kind: Any, value: Any) -> Any:
    """Convert a member of parsed JSON to an array (`dec_hook` of `msgspec.convert`).

    A list of numbers has one dimension, a list of rows two. Floating-point numbers may be null,
    which becomes NaN; in a square matrix of them the diagonal becomes NaN, too, since a host has no
    distance to itself. Counts may be null, which becomes -1. A matrix of the binary form is
    returned as it lies in the file, unless its diagonal has to be cleared.

    Raises:
        ValueError: `value` holds anything else.
        NotImplementedError: `kind` is no array.
    """
    if get_origin(kind) is not np.ndarray:
        raise NotImplementedError(kind)
    (number,) = get_args(get_args(kind)[1])
    dtype = get_origin(number) or number
    is_float = dtype is np.float64
    if isinstance(value, np.ndarray):
        return _check_type(value, is_float=is_float)
    if not isinstance(value, list):
        raise ValueError("expected a list of numbers, or of rows")
    if not value or not isinstance(value[0], list):
        return _decode_row(value, "", is_float=is_float, dtype=dtype)
    array = np.empty((len(value), len(value[0])), dtype=_DTYPES[dtype])
    for i, row in enumerate(value):
        if not isinstance(row, list) or len(row) != len(value[0]):
            raise ValueError(f"row {i} must be a list of {len(value[0])} values, as row 0 is")
        array[i] = _decode_row(row, f"row {i}, ", is_float=is_float, dtype=dtype)
    if is_float and array.shape[0] == array.shape[1]:
        np.fill_diagonal(array, np.nan)
    return array


def describe_array(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of an array, or raise NotImplementedError (`schema_hook`)."""
    if kind is not np.ndarray and get_origin(kind) is not np.ndarray:
        raise NotImplementedError(kind)
    return {"type": "array"}


def find_outside(matrix: Array, high: float, low: float = 0) -> tuple[int, int] | None:
    """Return row and column of the first number below `low` or above `high`, or None.

    NaN is allowed, and so is anything on the diagonal of floating-point numbers.

    Args:
        matrix: (N, N) numbers.
        high: largest number allowed.
        low: smallest number allowed.
    """
    is_float = matrix.dtype.kind == "f"
    rows = max(1, BLOCK_BYTES // max(1, matrix[:1].nbytes))
    for start in range(0, len(matrix), rows):
        block = matrix[start : start + rows]
        is_outside = (block < low) | (block > high)
        if is_float:
            own = np.arange(len(block))
            is_outside[own, start + own] = False
        if is_outside.any():
            i, j = np.argwhere(is_outside)[0]
            return start + int(i), int(j)
        release_pages(matrix)
    return None


def move_hosts(
    matrix: npt.NDArray[_Number], places: Sequence[int | None], fill: float
) -> npt.NDArray[_Number]:
    """Return an (N, N) matrix rearranged for another list of hosts, with `fill` for new hosts.

    Args:
        matrix: readings between the hosts before.
        places: index of each host in `matrix`, None for a new one.
        fill: value of every pair with a new host.
    """
    moved = np.full((len(places), len(places)), fill, dtype=matrix.dtype)
    kept = [(new, old) for new, old in enumerate(places) if old is not None]
    if kept:
        new, old = (np.ix_(side, side) for side in zip(*kept, strict=True))
        moved[new] = matrix[old]
    return moved


def median_rows(values: Matrix, least: int = 1) -> Matrix:
    """Return medians of known values along the last axis; NaN if there are fewer than `least`."""
    known = np.isfinite(values).sum(axis=-1, keepdims=True)
    # Unknown values are sorted to the end.
    ranked = np.sort(np.where(np.isfinite(values), values, np.nan), axis=-1)
    low = np.take_along_axis(ranked, np.maximum(known - 1, 0) // 2, axis=-1)
    high = np.take_along_axis(ranked, known // 2, axis=-1)
    medians: Matrix = np.where(known >= least, (low + high) / 2.0, np.nan)[..., 0]
    return medians


def median_blocks(values: Matrix, order: Sequence[int], size: int) -> Matrix:
    """Return the median of known values in each block of a reordered matrix, to draw it small.

    Args:
        values: (N, N), NaN where unknown.
        order: rows and columns in the order in which they are taken.
        size: rows and columns of a block; the last blocks may be smaller.
    """
    if size == 1:
        return values[np.ix_(order, order)]
    count = -(-len(order) // size)
    medians = np.empty((count, count))
    for number in range(count):
        rows = values[list(order[number * size :][:size])][:, list(order)]
        padded = np.full((len(rows), count * size), np.nan)
        padded[:, : rows.shape[1]] = rows
        blocks = padded.reshape(len(rows), count, size).swapaxes(0, 1).reshape(count, -1)
        medians[number] = median_rows(blocks)
    return medians


def format_bound(value: float) -> str:
    """Return a limit as text, without an exponent where the number is short enough."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e13 else f"{value:g}"


def release_pages(content: object) -> None:
    """Let the kernel drop the pages of a mapped file or matrix; they are read again when used."""
    while isinstance(content, np.ndarray):
        content = content.base
    if isinstance(content, memoryview):
        content = content.obj
    if isinstance(content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        content.madvise(mmap.MADV_DONTNEED)


def _check_type(values: npt.NDArray[Any], *, is_float: bool) -> Array:
    is_whole = np.issubdtype(values.dtype, np.integer)
    if not is_float:
        if not is_whole:
            raise ValueError(f"expected a matrix of whole numbers, found {values.dtype.name}")
        return values
    # Whole numbers below 0 stand for what is unknown: NaN has no place among integers.
    matrix: Matrix = np.where(values < 0, np.nan, values) if is_whole else values
    if matrix.shape[0] == matrix.shape[1] and not np.isnan(matrix.diagonal()).all():
        matrix = matrix.copy()
        np.fill_diagonal(matrix, np.nan)
    return matrix


def _decode_row(
    row: Sequence[Any], place: str, *, is_float: bool, dtype: type[np.generic]
) -> npt.NDArray[Any]:
    allowed: set[type] = {int, float, type(None)} if is_float else {int, type(None)}
    if not set(map(type, row)) <= allowed:
        wrong = next(column for column, value in enumerate(row) if type(value) not in allowed)
        number_kind = "number" if is_float else "whole number"
        raise ValueError(f"{place}column {wrong} must be a {number_kind}")
    values = row if is_float else [-1 if value is None else value for value in row]
    try:
        return np.array(values, dtype=_DTYPES[dtype])
    except OverflowError:
        raise ValueError(f"{place}a number is too large") from None
