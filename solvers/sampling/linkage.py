"""Average linkage where most pairs were not measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

# A join that more pairs speak for comes before one that fewer speak for as much.
_CAUTION = 0.5


def joined(votes: Matrix) -> Labels:
    """Clusters of hosts whose pairs vote for being together, on average over the pairs measured.

    The two clusters that the most speaks for are joined, as in average linkage (UPGMA), but over
    the pairs that there are, until the average vote between any two is not positive.

    Args:
        votes: (N, N), symmetric; positive for together, negative for apart, NaN if not measured.

    Returns:
        (N,) cluster of each host, 0 ... G-1 in the order of their first hosts.
    """
    size = len(votes)
    count = (~np.isnan(votes)).astype(np.float64)
    total = np.nan_to_num(votes)
    np.fill_diagonal(count, 0.0)
    np.fill_diagonal(total, 0.0)
    merit = total / (count + _CAUTION)
    best = merit.argmax(axis=1)
    best_merit = merit[np.arange(size), best]
    cluster = np.arange(size)
    while True:
        a = int(best_merit.argmax())
        if best_merit[a] <= 0.0:
            break
        a, b = sorted((a, int(best[a])))
        cluster[cluster == b] = a
        for matrix in (total, count):
            matrix[a] += matrix[b]
            matrix[b] = 0.0
            matrix[:, a] = matrix[a]
            matrix[:, b] = 0.0
            matrix[a, a] = 0.0
        merit[a] = total[a] / (count[a] + _CAUTION)
        merit[:, a] = merit[a]
        merit[b] = 0.0
        merit[:, b] = 0.0
        stale = np.flatnonzero((best == a) | (best == b))
        stale = np.union1d(stale, [a, b])
        best[stale] = merit[stale].argmax(axis=1)
        best_merit[stale] = merit[stale, best[stale]]
        better = merit[a] > best_merit
        best[better] = a
        best_merit[better] = merit[a, better]
    first, labels = np.unique(cluster, return_inverse=True)
    del first
    return labels.astype(np.int64)
