"""Shrinkage estimates of distances from noisy readings, given groups of hosts.

Noise multiplies a round trip and only adds to it, so all is done on logarithms and the lowest
readings count most. Where groups are known, a pair has a *class*: the number of levels whose groups
part it. The estimate is that of James and Stein (1961), with the class as what it shrinks towards:

    estimate = center + w (lowest - center),    w = t^2 / (t^2 + s^2)

- *lowest*: the least reading of the pair in any pass and direction.
- *center*: the lower third of its class. A host whose lowest readings lie above the centers of
  their classes is slow, and its pairs are expected to be farther by that.
- *t*, what distances of one class really differ by: how far readings lie below the center. Those
  above it would tell of noise.
- *s*, how far the lowest reading may be off: s^2 = g^2 + mean g^2, where g is how far the second
  lowest reading of the pair lies above the lowest. One that was reached twice can be trusted.

A pair that is far from its class keeps its own distance: w is at least 1 - (3 s / (lowest -
center))^2, the positive part of the same estimator.

The deviation of the estimate is sqrt(w) s, and t for a pair that was not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.grouping import Labels, Matrix

Mask = npt.NDArray[np.bool_]

_CENTER = 1.0 / 3.0
# A host is slow if nine in ten of its readings, of at least five, lie above their centers by more.
_LEAST_TIME, _TIME_QUANTILE, _LEAST_PARTNERS = 0.1, 0.1, 5
_MOST_SLOW = 0.25
# A pair is far from its class from so many times s on.
_FAR = 3.0
# The standard deviation of a normal distribution by its median absolute deviation.
_PER_MAD = 1.4826


@dataclass(frozen=True)
class EstimatedDistances:
    """Estimated distances of all pairs, with the standard deviation of their logarithms.

    Args:
        distance: (N, N), symmetric, zero diagonal; NaN for pairs that were not measured, and of
            whose class no pair was.
        deviation: (N, N) standard deviation of their logarithms.
    """

    distance: Matrix
    deviation: Matrix


def lowest_readings(readings: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
    """Return each pair's lowest and second lowest of several readings, (N, N) each.

    Args:
        readings: (N, N) each, [source][destination], NaN where nothing was measured. A matrix that
            is its own transpose has one reading for each pair, any other one for each direction.

    Returns:
        two symmetric (N, N) matrices, infinite where there is no such reading.
    """
    lowest = np.full(readings[0].shape, np.inf)
    second = lowest.copy()
    for matrix in readings:
        known = np.where(matrix > 0.0, matrix, np.inf)
        for each in (known,) if (known == known.T).all() else (known, known.T):
            np.minimum(second, np.maximum(lowest, each), out=second)
            np.minimum(lowest, each, out=lowest)
    return lowest, second


def estimate_distances(
    lowest: Matrix, second: Matrix, levels: Sequence[Labels]
) -> EstimatedDistances | None:
    """Estimate distances: shrink readings towards those of pairs that as many group levels part.

    Args:
        lowest, second: (N, N) as `lowest_readings` returns them.
        levels: (N,) each host's group at each level; a host alone has a group of its own.

    Returns:
        the estimate; None if no pair has two readings that differ, so that nothing tells how far
        readings are off.
    """
    above = np.triu_indices(len(lowest), 1)
    first, other = above
    is_measured = np.isfinite(lowest[above])
    is_twice = np.isfinite(second[above])
    logs = np.log(lowest[above], where=is_measured, out=np.zeros(len(first)))
    gaps = np.log(second[above], where=is_twice, out=np.zeros(len(first))) - logs
    gaps[~is_twice] = 0.0
    if not gaps.any():
        return None
    kinds = np.zeros(len(first), dtype=np.intp)
    for labels in levels:
        kinds += labels[first] != labels[other]
    expected = _expected_logs(logs, is_measured, kinds, above, len(lowest))
    beyond = logs - expected
    below = -beyond[is_measured & (beyond <= 0.0)]
    between = (_PER_MAD * _quantile(below, 0.5)) ** 2 if below.size else 0.0
    noise = float(np.mean(gaps[is_twice] ** 2))
    within = np.where(is_twice, gaps**2, noise) + noise
    weight = np.full(len(logs), between) / (between + within)
    is_far = is_measured & (np.abs(beyond) > _FAR * np.sqrt(within))
    weight[is_far] = np.maximum(
        weight[is_far], 1.0 - _FAR**2 * within[is_far] / beyond[is_far] ** 2
    )
    estimated = np.where(is_measured, expected + weight * beyond, expected)
    deviation = np.sqrt(np.where(is_measured, weight * within, between))
    return EstimatedDistances(_symmetric(np.exp(estimated), above), _symmetric(deviation, above))


def _expected_logs(
    logs: Matrix,
    is_measured: Mask,
    kinds: npt.NDArray[np.intp],
    above: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]],
    size: int,
) -> Matrix:
    """Return pairs' expected log readings, (P,), by the levels that part them and by slow hosts.

    Args:
        logs: (P,) logarithms of the readings.
        is_measured: (P,) which there are.
        kinds: (P,) the class of each pair.
        above: the hosts of each pair.
        size: number of hosts.
    """
    first, other = above
    times = np.zeros(size)
    for _ in range(1 + int(_MOST_SLOW * size)):
        of_hosts = times[first] + times[other]
        centers = np.full(int(kinds.max(initial=0)) + 1, np.nan)
        for kind in range(len(centers)):
            values = (logs - of_hosts)[is_measured & (kinds == kind)]
            if values.size:
                centers[kind] = _quantile(values, _CENTER)
        expected: Matrix = of_hosts + centers[kinds]
        beyond = np.full((size, size), np.nan)
        beyond[first, other] = beyond[other, first] = np.where(is_measured, logs - expected, np.nan)
        excess = _low_ends(beyond)
        slowest = int(np.argmax(excess))
        if excess[slowest] <= _LEAST_TIME:
            break
        times[slowest] += excess[slowest]
    return expected


def _quantile(values: Matrix, share: float) -> float:
    """Return a quantile of values, without importing NumPy's masked arrays."""
    ordered = np.sort(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


def _low_ends(beyond: Matrix) -> Matrix:
    """Return each host's extra log latency, (N,): a low quantile of its excess over expected."""
    known = np.isfinite(beyond).sum(axis=1)
    # NaN is sorted last.
    place = (_TIME_QUANTILE * np.maximum(known - 1, 0)).astype(np.intp)
    ends = np.sort(beyond, axis=1)[np.arange(len(beyond)), place]
    return np.where(known >= _LEAST_PARTNERS, ends, 0.0)


def _symmetric(values: Matrix, above: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]) -> Matrix:
    """Return a symmetric (N, N) matrix with values (P,) of pairs and a zero diagonal."""
    size = 1 + int(above[1].max(initial=0))
    matrix = np.zeros((size, size))
    matrix[above] = values
    return matrix + matrix.T
