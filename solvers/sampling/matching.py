"""Matching of disjoint pairs with large weight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Pairs = list[tuple[int, int]]


def match_pairs(weight: Matrix, labels: Labels | None = None) -> Pairs:
    """Return mutually best pairs, repeatedly among the remaining hosts.

    Args:
        weight: (N, N), symmetric; -inf for pairs that must not meet. Ties should be broken.
        labels: (N,) cluster of each host: at most one pair is taken of any two clusters, any
            number within one. None for no such limit.

    Returns:
        disjoint pairs (i, j), i < j.
    """
    left = weight.copy()
    free = np.arange(len(left))
    pairs: Pairs = []
    while len(free) > 1:
        here = np.arange(len(free))
        best = left.argmax(axis=1)
        is_possible = left[here, best] > -np.inf
        mutual = here[(best[best] == here) & (here < best) & is_possible]
        if not len(mutual):
            break
        if labels is not None:
            mutual = _one_each(mutual, best, labels[free], left)
        pairs += zip(free[mutual].tolist(), free[best[mutual]].tolist(), strict=True)
        is_left = is_possible
        is_left[mutual] = is_left[best[mutual]] = False
        left = left[is_left][:, is_left]
        free = free[is_left]
    return pairs


def _one_each(mutual: Labels, best: Labels, labels: Labels, left: Matrix) -> Labels:
    """Return one pair for each two clusters, and bar the others between them."""
    low = np.minimum(labels[mutual], labels[best[mutual]])
    high = np.maximum(labels[mutual], labels[best[mutual]])
    is_within = low == high
    _, first = np.unique(low * (labels.max() + 1) + high, return_index=True)
    is_kept = is_within.copy()
    is_kept[first] = True
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(labels.max() + 2))
    for a, b in zip(low[is_kept & ~is_within], high[is_kept & ~is_within], strict=True):
        block = np.ix_(order[bounds[a] : bounds[a + 1]], order[bounds[b] : bounds[b + 1]])
        left[block] = -np.inf
        left[block[1].T, block[0].T] = -np.inf
    kept: Labels = mutual[is_kept]
    return kept
