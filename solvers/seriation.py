"""Order of a distance matrix's rows that puts near hosts side by side, to show groups."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

Matrix = npt.NDArray[np.float64]

# Optimal leaf ordering takes time with the cube of the size: 0.1 s for 500, minutes for thousands.
_MAX_OPTIMAL = 600


def seriate(distances: Matrix) -> list[int]:
    """Return an order of rows and columns that puts near hosts side by side.

    Args:
        distances: (N, N), symmetric, finite, not negative; the diagonal does not count.

    Returns:
        A permutation of 0 ... N-1, the same for the same input.

    Raises:
        ValueError: not square, not symmetric, or a distance that is negative or not finite.
    """
    size = len(distances)
    if distances.shape != (size, size):
        raise ValueError(f"distances has shape {distances.shape}, expected (N, N)")
    whole = distances.copy()
    np.fill_diagonal(whole, 0.0)
    if not np.isfinite(whole).all() or (whole < 0.0).any() or (whole != whole.T).any():
        raise ValueError("distances must be finite, not negative and symmetric")
    if size < 3:
        return list(range(size))
    tree = linkage(
        squareform(whole, checks=False), method="average", optimal_ordering=size <= _MAX_OPTIMAL
    )
    order = [int(index) for index in leaves_list(tree)]
    return order if order[0] < order[-1] else order[::-1]
