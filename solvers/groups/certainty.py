"""How sure groups are: whether enough pairs were compared, and whether hosts belong to theirs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.dendrogram import Mask
from plink.solvers.groups.grouping import ALONE, Labels, Matrix, alone_apart
from plink.solvers.groups.structure import LEAST_GAIN, LEAST_NOISE

# Two mean distances that differ by fewer deviations may be the same.
_DEVIATIONS = 2.0

# A reading that is off by more deviations counts as off by so many: it is an outlier.
_MOST_DEVIATIONS = 6.0
# Of more groups so many are compared with each other, and a host is weighed for the nearest only.
_MOST_COMPARED = 512
_NEAREST = 6
_MOST_HOSTS_WEIGHED = 512
_ROWS = 256
# Readings share hosts and moments, so that they say less than so many independent ones.
_WEIGHT = 0.5


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
    if count > _MOST_COMPARED:
        some = np.linspace(0, count - 1, _MOST_COMPARED).astype(np.intp)
        mean, count = mean[np.ix_(some, some)], _MOST_COMPARED
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
    likely = np.full((len(labels), count + 1), -np.inf)
    if len(labels) <= _MOST_HOSTS_WEIGHED:
        for group in range(count):
            likely[:, group] = _log_likelihood(logs - mean[group][own][None, :], is_measured, scale)
    else:
        likely[:, :count] = _likely_of_nearest(logs, is_measured, own, mean, scale)
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


def _likely_of_nearest(
    logs: Matrix, is_measured: Mask, own: Labels, mean: Matrix, scale: float
) -> Matrix:
    """(N, k) the logarithmic likelihood of each host in its own group and those most like it.

    Of all others minus infinity. Which are most like it is told by the squares of all that its
    readings are off by, without a limit for outliers.

    Args:
        logs, is_measured: as above.
        own: (N,) each host's group.
        mean: (k, k) logarithms between groups.
        scale: the standard deviation of the logarithms.
    """
    count = len(mean)
    hot = np.zeros((len(own), count))
    hot[np.arange(len(own)), own] = 1.0
    found = np.full((len(own), count), -np.inf)
    for start in range(0, len(own), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(own)))
        measured = is_measured[rows]
        sums = np.where(measured, logs[rows], 0.0) @ hot
        off = (measured.astype(np.float64) @ hot) @ (mean**2).T - 2.0 * sums @ mean.T
        off[np.arange(len(rows)), own[rows]] = -np.inf
        nearest = np.argsort(off, axis=1, kind="stable")[:, :_NEAREST]
        for groups in nearest.T:
            missed = logs[rows] - mean[groups][:, own]
            found[rows, groups] = _log_likelihood(missed, measured, scale)
    return found


def _log_likelihood(missed: Matrix, is_measured: Mask, scale: float) -> npt.NDArray[np.float64]:
    """(N,) of each host's readings, from the (N, N) logarithms that they are off by."""
    deviations = np.minimum(np.abs(missed) / scale, _MOST_DEVIATIONS)
    found: npt.NDArray[np.float64] = np.where(is_measured, deviations**2, 0.0).sum(axis=1)
    return -0.5 * _WEIGHT * found
