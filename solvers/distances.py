"""What every solver asks of a matrix of distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.solvers import _native

Matrix = npt.NDArray[np.float64]


def checked(distance: Matrix, ranks: int) -> Matrix:
    """The matrix, C-contiguous.

    Args:
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        ranks: N.

    Raises:
        ValueError: it is not that.
    """
    matrix = np.ascontiguousarray(distance, dtype=np.float64)
    if matrix.shape != (ranks, ranks):
        raise ValueError(f"distance has shape {matrix.shape}, expected ({ranks}, {ranks})")
    fault: str | None = _native.fault_of(matrix)
    if fault is not None:
        raise ValueError(fault)
    return matrix
