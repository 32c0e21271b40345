"""Comparison of clusters or hosts that have not met, by their readings to third hosts."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

# How likely a reading is one that says nothing: a detour, a spell of other work.
_DISTURBED = 0.05
_MOST = 3.0
_LEAST_STEP = 0.05
_MOST_LEVELS = 40

_NEAREST = 3
# More than any difference by chance.
_UNIT = 10.0


def kinship(mean_logs: Matrix, deviation: float, farthest: float) -> Matrix:
    """Return the log likelihood ratio of two clusters being one, by distances to third hosts.

    In an ultrametric two that are together are equally far from any third one. So a third one that
    is far from one and near to the other speaks against it, and one that is equally far from both
    speaks for it by as much as that distance is rare.

    Args:
        mean_logs: (G, C) means of logarithms of readings from clusters to third ones, NaN where
            there is none.
        deviation: deviation of one reading's logarithm.
        farthest: beyond it, logarithms tell no more: noise adds, and so long readings are alike by
            chance.

    Returns:
        (G, G), symmetric; 0 where no third cluster has met both.
    """
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy import sparse  # noqa: PLC0415

    size, thirds = mean_logs.shape
    cluster, third = np.nonzero(~np.isnan(mean_logs))
    values = mean_logs[cluster, third]
    if not len(values):
        return np.zeros((size, size))
    high = farthest
    low = min(float(np.quantile(values, 0.005)), high)
    step = max(_LEAST_STEP, deviation / 2.0, (high - low) / _MOST_LEVELS)
    level = (np.clip(values - low, 0.0, high - low) / step).astype(np.intp)
    table = _table(level, deviation / step)
    levels = len(table)
    shape = (size, thirds * levels)
    at_level = sparse.csr_array((np.ones(len(level)), (cluster, third * levels + level)), shape)
    columns = (third[:, None] * levels + np.arange(levels)).ravel()
    rows = np.repeat(cluster, levels)
    said = sparse.csr_array((table[level].ravel(), (rows, columns)), shape)
    ratio: Matrix = (said @ at_level.T).toarray()
    return (ratio + ratio.T) / 2.0


def _table(level: npt.NDArray[np.intp], deviation: float) -> Matrix:
    """Return log P(both | together) / P(one) P(other) by the levels of both, (L, L)."""
    levels = int(level.max()) + 1
    share = (np.bincount(level, minlength=levels) + 0.5) / (len(level) + 0.5 * levels)
    apart = np.arange(levels)[:, None] - np.arange(levels)[None, :]
    alike = np.exp(-0.25 * (apart / max(deviation, 0.5)) ** 2) * share
    alike /= alike.sum(axis=1, keepdims=True)
    ratio = np.log((1.0 - _DISTURBED) * alike / share + _DISTURBED)
    clipped: Matrix = np.clip((ratio + ratio.T) / 2.0, math.log(_DISTURBED), _MOST)
    return clipped


def two_steps(readings_us: Matrix) -> Matrix:
    """Return the value of measuring each pair, by near third hosts (as in an ultrametric).

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
