"""What every solver asks of a matrix of distances."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    if not np.isfinite(matrix).all() or (matrix < 0.0).any():
        raise ValueError("distance holds values that are negative or not finite")
    if np.diagonal(matrix).any() or (matrix != matrix.T).any():
        raise ValueError("distance is not symmetric with a zero diagonal")
    return matrix
