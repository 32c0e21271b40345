"""Hierarchical clustering in SciPy's format, within a time limit."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.limits.deadline import Deadline

Matrix = npt.NDArray[np.float64]


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
