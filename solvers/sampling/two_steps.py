"""Pairs that a third host is near to, while it is not known yet what near is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

_NEAREST = 3
# More than any difference by chance.
_UNIT = 10.0


def two_steps(readings_us: Matrix) -> Matrix:
    """How much pairs are worth a meeting: in an ultrametric a near third one makes them near.

    Args:
        readings_us: (N, N), symmetric, NaN where not measured.

    Returns:
        (N, N), symmetric; the more, the less the larger of the readings to a third host that is
        among the nearest three of either; 0 for pairs without such a one.
    """
    distance = np.where(np.isnan(readings_us), np.inf, readings_us)
    np.fill_diagonal(distance, np.inf)
    size = len(distance)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :_NEAREST]
    largest = float(np.max(distance, where=np.isfinite(distance), initial=0.0))
    worth = np.zeros((size, size))
    if largest == 0.0:
        return worth
    for third in range(size):
        # Those that it is near to, or that are near to it.
        around = np.union1d(nearest[third], np.flatnonzero((nearest == third).any(axis=1)))
        around = around[np.isfinite(distance[third, around])]
        away = distance[third, around]
        gain = _UNIT * (1.0 + largest / np.maximum.outer(away, away))
        block = np.ix_(around, around)
        worth[block] = np.maximum(worth[block], gain)
    return worth
