"""Validation of distance matrices."""

from __future__ import annotations

from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from plink.solvers import _native

Matrix = npt.NDArray[np.float64]

# Views that `check_distances` returned, by their addresses: searches hand them on to searches.
_passed: WeakValueDictionary[int, Matrix] = WeakValueDictionary()


def check_distances(distance: Matrix, ranks: int) -> Matrix:
    """Return a distance matrix, checked, as a C-contiguous read-only view.

    Looking at all pairs of thousands of hosts takes long: a view that this function returned is not
    looked at again, unless somebody made it one that can be written to. Who writes to the matrix
    behind it asks anew with that.

    Args:
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        ranks: N.

    Raises:
        ValueError: it is not that.
    """
    is_passed = _passed.get(id(distance)) is distance and not distance.flags.writeable
    if is_passed and len(distance) == ranks:
        return distance
    matrix = np.ascontiguousarray(distance, dtype=np.float64)[...]
    if matrix.shape != (ranks, ranks):
        raise ValueError(f"distance has shape {matrix.shape}, expected ({ranks}, {ranks})")
    fault: str | None = _native.fault_of(matrix)
    if fault is not None:
        raise ValueError(fault)
    matrix.flags.writeable = False
    _passed[id(matrix)] = matrix
    return matrix
