"""Hierarchical clustering within a time limit: its merges, and its leaves as orders."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.limits import Deadline

Matrix = npt.NDArray[np.float64]

# What the tree takes at least, for each pair of hosts: nobody begins what cannot end in time.
_S_PER_PAIR = 1e-8

# An order by single steps to the nearest host is found in any case: it takes no longer.
_LEAST_S = 0.1


def linkage(distance: Matrix, kind: Literal["average", "single"], deadline: Deadline) -> Matrix:
    """Return hierarchical merges of hosts, (N - 1, 4), as `scipy.cluster.hierarchy.linkage` does.

    Args:
        distance: (N, N), symmetric, C-contiguous.
        kind: what the distance of two clusters is.
        deadline: when to stop.

    Raises:
        TimeoutError: the time did not suffice.
    """
    found = _native.merges(distance, kind == "single", deadline)
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


def order_by_clusters(distance: Matrix, deadline: Deadline) -> list[int]:
    """Return hosts in the order of the leaves of average linkage, a cheap order for all algorithms.

    Ranks whose numbers are near are near in every usual algorithm. Which of two branches comes
    first says nothing: `plink.solvers.seriation` orders leaves.

    Args:
        distance: (N, N), symmetric, finite.
        deadline: when to stop; then the hosts follow each other, each the nearest one left.

    Returns:
        A permutation of 0 ... N-1, the same for the same input if the time suffices.
    """
    matrix = np.ascontiguousarray(distance, dtype=np.float64)
    try:
        if deadline.left_s < _S_PER_PAIR * matrix.size:
            raise TimeoutError
        return _native.clustered_leaves(matrix, deadline)
    except TimeoutError:
        return _native.nearest_neighbour_ring(matrix, 0, Deadline(_LEAST_S))
