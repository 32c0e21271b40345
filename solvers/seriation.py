"""Orders of hosts in which structure shows: near hosts stand side by side.

Hierarchical clustering with optimal leaf ordering (Bar-Joseph, Gifford and Jaakkola, "Fast optimal
leaf ordering for hierarchical clustering", Bioinformatics 17, 2001).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

# Optimal leaf ordering takes time with the cube of the size: 0.1 s for 500, minutes for thousands.
_MAX_OPTIMAL = 600


def seriate(distances: Matrix) -> list[int]:
    """An order of the rows and columns that puts near ones side by side.

    Args:
        distances: (N, N), not negative, NaN where unknown; the diagonal does not count.

    Returns:
        A permutation of 0 ... N-1, the same for the same input.

    Raises:
        ValueError: not square, or a distance that is negative or infinite.
    """
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.cluster.hierarchy import leaves_list, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    size = len(distances)
    if distances.shape != (size, size):
        raise ValueError(f"expected a square matrix, found shape {distances.shape}")
    if (distances < 0.0).any() or np.isinf(distances).any():
        raise ValueError("distances must be finite and not negative")
    if size < 3:
        return list(range(size))
    whole = fill_gaps(symmetrised(distances))
    tree = linkage(
        squareform(whole, checks=False), method="average", optimal_ordering=size <= _MAX_OPTIMAL
    )
    order = [int(index) for index in leaves_list(tree)]
    return order if order[0] < order[-1] else order[::-1]


def symmetrised(distances: Matrix) -> Matrix:
    """The mean of both directions, or the one that is known; the diagonal is 0."""
    known = np.isfinite(distances)
    count = known.astype(np.int64) + known.T
    total = np.where(known, distances, 0.0) + np.where(known, distances, 0.0).T
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    np.fill_diagonal(mean, 0.0)
    return mean


def fill_gaps(distances: Matrix) -> Matrix:
    """A symmetric matrix with every NaN replaced by what the best third host suggests.

    In a hierarchy of racks, and for any third host k, d(i, j) is at most the larger of d(i, k) and
    d(k, j) (the ultrametric inequality), with equality for a k in the rack of i or of j. Where no
    third host knows both, the largest distance known stands in, so that such hosts go to the edge.
    """
    gaps = np.argwhere(np.isnan(np.triu(distances, 1)))
    known = np.where(np.isnan(distances), np.inf, distances)
    np.fill_diagonal(known, np.inf)
    finite = known[np.isfinite(known)]
    farthest = float(finite.max()) if finite.size else 0.0
    whole = distances.copy()
    for i, j in gaps:
        suggested = float(np.maximum(known[i], known[j]).min())
        whole[i, j] = whole[j, i] = suggested if np.isfinite(suggested) else farthest
    return whole
