"""Hosts as points in space that form no clusters: the rival explanation to groups.

Hosts lie in a space of one to three dimensions, and each reading adds a common time. The fit is
priced by the nats that it takes to say the coordinates as precisely as the readings tell.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from plink.solvers.gaps import fill_gaps
from plink.solvers.groups.classes import Classes, Floats, Ints, Mask

_DIMENSIONS = (1, 2, 3)
# Common time to start from, in shares of the median reading, and bounds of its logarithm.
_COMMON_TIME = 0.1
_LEAST_TIME, _MOST_LOG_TIME = 1e-3, 40.0
_ITERATIONS = 60
# A point has one coordinate for at least so many readings.
_LEAST_READINGS = 1.2
# Groups of fewer points come by chance, with gaps around them that are so much wider than they.
_LEAST_CLUSTER, _LEAST_GAP = 8, 1.5
# Readings count in proportion up to this error of their logarithm, and less beyond.
_USUAL_ERROR = 0.1


def cost_points(logs: Floats, is_measured: Mask, labels: Ints) -> float:
    """Return the cost in nats of hosts as points; infinite where none explain the readings.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        labels: (N,) groups; points that lie in large ones, with gaps around them, say the same.
    """
    size = len(logs)
    first, second = np.nonzero(np.triu(is_measured, 1))
    scale = float(np.median(logs[first, second]))
    wanted = logs[first, second] - scale
    distance = np.exp(fill_gaps(np.where(is_measured, logs, np.nan))[0] - scale)
    np.fill_diagonal(distance, 0.0)
    squared = distance**2
    gram = -0.5 * (squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean())
    strengths, directions = np.linalg.eigh(gram)
    scaled = directions * np.sqrt(np.maximum(strengths, 1e-9))
    partners = float(is_measured.sum(axis=1).mean())
    are_large, least = size >= _LEAST_CLUSTER * (int(labels.max()) + 1), np.inf
    for dimensions in _DIMENSIONS:
        unknowns = size * dimensions - dimensions * (dimensions + 1) // 2 + 1
        if len(wanted) < _LEAST_READINGS * unknowns:
            continue
        points, fitted = _fit_points(scaled[:, -dimensions:], first, second, wanted)
        if are_large and _are_clustered(fitted, labels[first] == labels[second]):
            continue
        classes = Classes(wanted - np.log(fitted))
        precision = np.sqrt(partners / dimensions) / (2.5 * classes.bandwidth)
        ranges = np.maximum(3.46 * points.std(axis=0) * precision, 2.0)
        # Points can be turned as a whole, which saves coordinates.
        price = float((size - np.arange(dimensions)) @ np.log(ranges))
        least = min(least, classes.one_class_cost + price)
    return least


def _are_clustered(distances: Floats, is_within: Mask) -> bool:
    """Tell whether a gap parts distances within groups from those between them."""
    if is_within.all() or not is_within.any():
        return False
    nearest = np.quantile(distances[~is_within], 0.1)
    return bool(_LEAST_GAP * np.quantile(distances[is_within], 0.9) < nearest)


def _fit_points(begin: Floats, first: Ints, second: Ints, wanted: Floats) -> tuple[Floats, Floats]:
    """Return (N, D) points that fit the wanted logarithms, outliers aside, and (P,) readings."""
    shape = size, _ = begin.shape

    def measure(flat: Floats) -> tuple[Floats, Floats, Floats, float]:
        points = flat[:-1].reshape(shape)
        # A step of the search may leave what numbers can hold.
        common = float(np.exp(np.clip(flat[-1], -_MOST_LOG_TIME, _MOST_LOG_TIME)))
        apart = points[first] - points[second]
        return points, apart, np.sqrt((apart**2).sum(axis=1) + 1e-9), common

    def lose(flat: Floats) -> tuple[float, Floats]:
        _, apart, length, common = measure(flat)
        missed = np.log(length + common) - wanted
        root = np.sqrt(1.0 + (missed / _USUAL_ERROR) ** 2)
        slope = missed / root / (length + common)
        pull = (slope / length)[:, None] * apart
        gradient = np.zeros(shape)
        for axis in range(shape[1]):
            gradient[:, axis] = np.bincount(first, pull[:, axis], size)
            gradient[:, axis] -= np.bincount(second, pull[:, axis], size)
        loss = _USUAL_ERROR**2 * float((root - 1.0).sum())
        return loss, np.append(gradient.ravel(), common * float(slope.sum()))

    # OpenBLAS starts threads for triangles of 20 numbers, which poll longer than they compute.
    with threadpool_limits(limits=1, user_api="blas"):
        fit = minimize(
            lose,
            np.append(begin.ravel(), np.log(_COMMON_TIME)),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _ITERATIONS},
        )
    points, _, length, common = measure(fit.x)
    return points, length + max(common, _LEAST_TIME)
