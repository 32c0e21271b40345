"""Hierarchical clustering within a time limit: its merges, and its leaves as orders."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.limits.deadline import Deadline

Matrix = npt.NDArray[np.float64]

# What the tree takes at least, for each pair of hosts: nobody begins what cannot end in time.
_S_PER_PAIR = 1e-8

# An order by single steps to the nearest host is found in any case: it takes no longer.
_LEAST_S = 0.1

# Optimal leaf ordering takes time with the cube of the size: 0.1 s for 500, minutes for thousands.
_MAX_OPTIMAL = 600


def linkage(distance: Matrix, kind: Literal["average", "single"], deadline: Deadline) -> Matrix:
    """Return (N - 1, 4) merges of hosts by height, as `scipy.cluster.hierarchy.linkage` does.

    Args:
        distance: (N, N), symmetric, C-contiguous.
        kind: what the distance of two clusters is.
        deadline: when to stop.

    Raises:
        TimeoutError: the time did not suffice.
    """
    found = _native.merges(distance, kind == "single", deadline.native)
    size = len(distance)
    # By leaf: the leaf that stands for its cluster, and by such a leaf: the cluster and its size.
    above = list(range(size))
    cluster = list(range(size))
    members = [1] * size

    def top(leaf: int) -> int:
        while above[leaf] != leaf:
            above[leaf] = above[above[leaf]]
            leaf = above[leaf]
        return leaf

    merges = np.empty((size - 1, 4))
    for row, (one, other, height) in enumerate(sorted(found, key=lambda merge: merge[2])):
        first, second = top(one), top(other)
        low, high = sorted((cluster[first], cluster[second]))
        members[first] += members[second]
        above[second] = first
        cluster[first] = size + row
        merges[row] = low, high, height, members[first]
    return merges


def order_by_clusters(distance: Matrix, deadline: Deadline | None = None) -> list[int]:
    """Return the leaves of average linkage, by nearest-neighbour chains (Murtagh 1983).

    Ranks whose numbers are near are near in every usual algorithm, so that this is a cheap order
    for all of them. Which of two branches comes first says nothing, as no leaf ordering is done:
    see `plink.solvers.linkages` for one that does.

    Args:
        distance: (N, N), symmetric, finite.
        deadline: when to stop; then the hosts follow each other, each the nearest one left.

    Returns:
        A permutation of 0 ... N-1, the same for the same input if the time suffices.
    """
    matrix = np.ascontiguousarray(distance, dtype=np.float64)
    until = deadline or Deadline()
    try:
        if until.left_s < _S_PER_PAIR * matrix.size:
            raise TimeoutError
        leaves: list[int] = _native.clustered_leaves(matrix, until.native)
    except TimeoutError:
        leaves = _native.nearest_neighbour_ring(matrix, 0, Deadline(_LEAST_S).native)
    return leaves


def seriate(distances: Matrix) -> list[int]:
    """Return an order of rows and columns that puts near hosts side by side.

    Args:
        distances: (N, N), symmetric, finite, not negative; the diagonal does not count.

    Returns:
        A permutation of 0 ... N-1, the same for the same input.

    Raises:
        ValueError: not square, not symmetric, or a distance that is negative or not finite.
    """
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.cluster.hierarchy import leaves_list, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    size = len(distances)
    if distances.shape != (size, size):
        raise ValueError(f"expected a square matrix, found shape {distances.shape}")
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
