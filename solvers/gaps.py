"""Estimates of unmeasured distances from measured ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# So many third hosts' rows are looked at in one go.
_AT_ONCE = 256


def fill_gaps(matrix: Matrix) -> tuple[Matrix, Mask]:
    """Fill unmeasured pairs of a symmetric matrix by the nearest third host.

    Args:
        matrix: (N, N), NaN where nothing was measured. It is changed: of a large cluster there is
            no room for many.

    Returns:
        the matrix, with a zero diagonal, and where the gaps were.
    """
    missing = np.isnan(matrix)
    np.fill_diagonal(missing, val=False)
    # Third hosts that were not measured must lose every minimum.
    if missing.any():
        known = np.where(np.isnan(matrix), np.inf, matrix)
        largest = float(np.fmax.reduce(matrix, axis=None))
        for host in np.flatnonzero(missing.any(axis=1)):
            others = np.flatnonzero(missing[host])
            for some in np.array_split(others, 1 + len(others) // _AT_ONCE):
                nearest = np.maximum(known[host], known[some]).min(axis=1)
                matrix[host, some] = np.where(np.isfinite(nearest), nearest, largest)
    np.fill_diagonal(matrix, 0.0)
    return matrix, missing
