"""Average linkage for matrices in which most pairs are unmeasured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

# A join that more pairs speak for comes before one that fewer speak for as much.
_CAUTION = 0.5
# When so many of the clusters are left, the others' rows and columns are removed.
_COMPACT_AT = 0.7


def link_hosts(votes: Matrix, counts: Matrix) -> Labels:
    """Return clusters of hosts whose measured pairs favour being together on average.

    The two clusters that the most speaks for are joined, as in average linkage (UPGMA), but over
    the pairs that there are, until the average vote between any two is not positive.

    Args:
        votes: (N, N), symmetric sums of votes: positive for together, negative for apart.
        counts: (N, N), symmetric, of how many pairs.

    Returns:
        (N,) cluster of each host, 0 ... G-1 in the order of their first hosts.
    """
    labels: Labels = np.arange(len(votes))
    sums = np.stack([votes, counts])
    sums[:, labels, labels] = 0.0
    is_done = False
    while not is_done:
        joins, is_done = _joined_some(sums)
        kept, numbers = np.unique(joins, return_inverse=True)
        labels = numbers[labels]
        sums = np.ascontiguousarray(sums[:, kept][:, :, kept])
    return labels


def _joined_some(sums: Matrix) -> tuple[Labels, bool]:
    """Join clusters; return their new numbers and whether none can be joined any more."""
    size = sums.shape[1]
    hosts = np.arange(size)
    joins = hosts.copy()
    left = size
    merit = _merit(sums)
    best = merit.argmax(axis=1)
    best_merit = merit[hosts, best]
    while left > _COMPACT_AT * size:
        one = int(best_merit.argmax())
        if best_merit[one] <= 0.0:
            return joins, True
        a, b = sorted((one, int(best[one])))
        joins[joins == b] = a
        left -= 1
        sums[:, a] += sums[:, b]
        sums[:, a, a] = 0.0
        sums[:, b] = 0.0
        sums[:, :, a] = sums[:, a]
        sums[:, :, b] = 0.0
        best_merit[b], best[b] = 0.0, b
        merit_of_a = _merit(sums[:, a])
        is_better = merit_of_a > best_merit
        is_stale = (best == a) | (best == b)
        best[is_better] = a
        best_merit[is_better] = merit_of_a[is_better]
        is_stale &= ~is_better
        is_stale[a] = True
        stale = is_stale.nonzero()[0]
        merit = _merit(sums[:, stale])
        best[stale] = merit.argmax(axis=1)
        best_merit[stale] = merit[np.arange(len(stale)), best[stale]]
    return joins, False


def _merit(sums: Matrix) -> Matrix:
    """Return the merit of joining each pair of clusters."""
    merit: Matrix = sums[0] / (sums[1] + _CAUTION)
    return merit
