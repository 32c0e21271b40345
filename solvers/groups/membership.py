"""How sure it is that a host belongs to its group and to no other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.groups.dendrogram import Mask
from solvers.groups.grouping import ALONE, Labels, Matrix, alone_apart
from solvers.groups.structure import LEAST_NOISE

# A reading that is off by more deviations counts as off by so many: it is an outlier.
_MOST_DEVIATIONS = 6.0
# Readings share hosts and moments, so that they say less than so many independent ones.
_WEIGHT = 0.5


def host_probabilities(
    logs: Matrix, is_measured: Mask, labels: Labels, deviation: float
) -> npt.NDArray[np.float64]:
    """(N,) the probability that each host is in its group, were the others where they are.

    A host's readings are compared with the mean logarithms that hosts of each group have.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) symmetric, false on the diagonal.
        labels: (N,) groups 0 ... k-1, or `ALONE`.
        deviation: the standard deviation of the logarithms.
    """
    # Every host that is alone is a group here.
    alone = np.flatnonzero(labels == ALONE)
    own = alone_apart(labels)
    count = int(own.max()) + 1
    hot = np.zeros((len(labels), count))
    hot[np.arange(len(labels)), own] = 1.0
    measured = is_measured.astype(np.float64)
    readings = hot.T @ measured @ hot
    sums = hot.T @ np.where(is_measured, logs, 0.0) @ hot
    usual = float(logs[is_measured].mean())
    mean = np.where(readings > 0.0, sums / np.maximum(readings, 1.0), usual)
    scale = max(deviation, LEAST_NOISE)
    likely = np.empty((len(labels), count + 1))
    for group in range(count):
        likely[:, group] = _log_likelihood(logs - mean[group][own][None, :], is_measured, scale)
    # A host alone may be at any distance from each group, which has the price of so many means.
    seen = measured @ hot
    to_groups = np.where(is_measured, logs, 0.0) @ hot / np.maximum(seen, 1.0)
    price = 0.5 * (seen > 0.0).sum(axis=1) * np.log(max(len(labels), 2))
    likely[:, count] = _log_likelihood(logs - to_groups[:, own], is_measured, scale) - price
    likely[alone, own[alone]] = -np.inf
    own[alone] = count
    odds = np.exp(likely - likely.max(axis=1, keepdims=True))
    found: npt.NDArray[np.float64] = odds[np.arange(len(labels)), own] / odds.sum(axis=1)
    return found


def _log_likelihood(missed: Matrix, is_measured: Mask, scale: float) -> npt.NDArray[np.float64]:
    """(N,) of each host's readings, from the (N, N) logarithms that they are off by."""
    deviations = np.minimum(np.abs(missed) / scale, _MOST_DEVIATIONS)
    found: npt.NDArray[np.float64] = np.where(is_measured, deviations**2, 0.0).sum(axis=1)
    return -0.5 * _WEIGHT * found
