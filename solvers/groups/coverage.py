"""Whether enough pairs were measured to tell groups apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.groups.dendrogram import Mask
from solvers.groups.grouping import Labels, Matrix, alone_apart
from solvers.groups.structure import LEAST_GAIN

# Two mean distances that differ by fewer deviations may be the same.
_DEVIATIONS = 2.0


def compared_share(logs: Matrix, is_measured: Mask, labels: Labels, deviation: float) -> float:
    """The share of the pairs of groups that are known to be two groups, and not parts of one.

    Either a pair between them was measured, or they are at clearly different distances from a third
    one: in a tree of switches they are then as far from each other as the farther of the two.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) symmetric, false on the diagonal.
        labels: (N,) groups 0 ... k-1; every `ALONE` host counts as a group.
        deviation: the standard deviation of the logarithms.
    """
    own = alone_apart(labels)
    count = int(own.max()) + 1
    if count < 2:
        return 1.0
    hot = np.zeros((len(own), count))
    hot[np.arange(len(own)), own] = 1.0
    pairs = hot.T @ is_measured.astype(np.float64) @ hot
    sums = hot.T @ np.where(is_measured, logs, 0.0) @ hot
    mean = np.full((count, count), np.nan)
    np.divide(sums, pairs, out=mean, where=pairs > 0.0)
    np.fill_diagonal(mean, np.nan)
    is_known = np.isfinite(mean)
    least = max(np.log1p(LEAST_GAIN), _DEVIATIONS * deviation)
    for group in range(count):
        is_known[group] |= _differ(mean, group, least)
    is_known |= is_known.T
    return float(is_known[np.triu_indices(count, 1)].mean())


def _differ(mean: Matrix, group: int, least: float) -> npt.NDArray[np.bool_]:
    """(k,) whether some third group is nearer to this one than to each other, or farther."""
    apart = np.abs(mean - mean[group][None, :])
    found: npt.NDArray[np.bool_] = (apart > least).any(axis=1)
    return found
