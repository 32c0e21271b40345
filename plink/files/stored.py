"""Matrices of the binary form, checked like those of JSON, without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.arrays import Array, Stored

_MAX_COUNT = 1 << 53


def bound(value: float) -> str:
    """A bound without an exponent where people can read it so."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e13 else f"{value:g}"


def stored_matrix(stored: Stored, size: int, high: float, place: str) -> npt.NDArray[np.float64]:
    """A matrix of `size` x `size` numbers from 0 to `high`, NaN where not known.

    Whole numbers below 0 are not known, either. The diagonal is NaN, whatever stands there.

    Raises:
        WrongUseError: it is another one; `place` says where it stands.
    """
    _check_shape(stored, size, place)
    if stored.values.dtype.kind == "i":
        matrix = np.where(stored.values < 0, np.nan, stored.values)
        blocks: Iterator[tuple[int, Array]] = iter([(0, matrix)])
    else:
        matrix, blocks = stored.values, stored.blocks()
    for start, rows in blocks:
        is_wrong = (rows < 0.0) | (rows > high)
        own = np.arange(len(rows))
        is_wrong[own, start + own] = False
        _check(is_wrong, rows, start, f"null or a number from 0 to {bound(high)}", place)
    if not np.isnan(matrix.diagonal()).all():
        matrix = matrix.copy()
        np.fill_diagonal(matrix, np.nan)
    return matrix


def stored_counts(stored: Stored, size: int, place: str) -> npt.NDArray[np.integer[Any]]:
    """A matrix of `size` x `size` whole numbers from 0.

    Raises:
        WrongUseError: it is another one; `place` says where it stands.
    """
    _check_shape(stored, size, place)
    values: npt.NDArray[Any] = stored.values
    if not np.issubdtype(values.dtype, np.integer):
        raise WrongUseError(f"{place}: holds {values.dtype.name}, expected whole numbers")
    for start, rows in stored.blocks():
        is_wrong = (rows < 0) | (rows >= _MAX_COUNT)
        _check(is_wrong, rows, start, "a whole number from 0", place)
    return values


def _check_shape(stored: Stored, size: int, place: str) -> None:
    shape = stored.values.shape
    if shape != (size, size):
        found = " x ".join(map(str, shape))
        raise WrongUseError(f"{place}: is {found} numbers, expected {size} x {size}")


def _check(
    is_wrong: npt.NDArray[np.bool_], rows: Array, start: int, expected: str, place: str
) -> None:
    if is_wrong.any():
        i, j = np.argwhere(is_wrong)[0]
        raise WrongUseError(f"{place}[{start + i}][{j}] is {rows[i, j]:g}, expected {expected}")
