"""Pairs held out of a fit, and how well points and the raw matrix predict them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from solvers.embedding.observations import Mask, Matrix, Observations

_SHARE = 0.1
# A host keeps at least this many measured partners.
_LEAST_PARTNERS = 3
# A pair that is missed by more counts as missed by this much: it is an outlier.
_MOST_ERROR = 1.0
# Hosts that are most like another one, whose readings predict that one's.
_NEIGHBOURS = 5
# Pairs that two hosts must have in common before their likeness means anything.
_LEAST_COMMON = 3


@dataclass(frozen=True)
class Error:
    """The mean share by which distances were missed, and its standard error."""

    mean: float
    deviation: float


def choose(is_measured: Mask, rng: np.random.Generator) -> Mask:
    """(N, N), symmetric: a tenth of the measured pairs, which connects and spares every host."""
    first, second = np.nonzero(np.triu(is_measured, 1))
    partners = is_measured.sum(axis=1)
    held = np.zeros_like(is_measured)
    wanted = int(_SHARE * len(first))
    for pair in rng.permutation(len(first))[:wanted]:
        i, j = first[pair], second[pair]
        if min(partners[i], partners[j]) > _LEAST_PARTNERS:
            held[i, j] = held[j, i] = True
            partners[i] -= 1
            partners[j] -= 1
    return held


def error(predicted: Matrix, observations: Observations, held: Mask) -> Error:
    """How far predictions are from held-out distances; either way, as shares of the larger."""
    pairs = np.triu(held, 1)
    measured = observations.distance[pairs]
    if measured.size < 2:
        return Error(np.inf, 0.0)
    floor = np.maximum(measured, np.finfo(np.float64).tiny)
    missed = np.minimum(np.abs(predicted[pairs] - measured) / floor, _MOST_ERROR)
    return Error(float(missed.mean()), float(missed.std() / np.sqrt(missed.size)))


def simplest(errors: Mapping[int, Error]) -> int:
    """The fewest dimensions whose error is within one standard error of the least."""
    least = min(errors.values(), key=lambda found: found.mean)
    limit = least.mean + least.deviation
    return min(size for size, found in errors.items() if found.mean <= limit)


def neighbour_prediction(known: Observations) -> Matrix:
    """(N, N) each distance as the hosts that are most like its ends have it.

    The likeness of two hosts is the mean share by which their distances to third hosts differ.
    The prediction is the median over those of the nearest hosts that measured the pair; where
    none did, it is the median of all distances.
    """
    size = len(known.distance)
    predicted = np.empty((size, size))
    readings = np.where(known.is_measured, np.log(np.maximum(known.distance, 1e-12)), 0.0)
    measured = known.is_measured.astype(np.float64)
    common = measured @ measured.T
    # Of the squared difference over third hosts that both measured, by its three products.
    squares = readings**2 @ measured.T
    unlike = squares + squares.T - 2.0 * (readings @ readings.T)
    mean = np.full((size, size), np.inf)
    np.divide(unlike, common, out=mean, where=common >= _LEAST_COMMON)
    np.fill_diagonal(mean, np.inf)
    nearest = np.argsort(mean, axis=1)[:, :_NEIGHBOURS]
    usable = np.take_along_axis(mean, nearest, axis=1) < np.inf
    gaps = np.where(known.is_measured, known.distance, np.nan)
    overall = float(np.median(known.distance[known.is_measured]))
    for host in range(size):
        rows = gaps[nearest[host][usable[host]]]
        predicted[host] = _medians(rows, overall)
    return (predicted + predicted.T) / 2.0


def _medians(rows: Matrix, fallback: float) -> Matrix:
    """The median of each column's numbers; `fallback` where there is none."""
    counts = (~np.isnan(rows)).sum(axis=0)
    if not counts.any():
        return np.full(rows.shape[1], fallback)
    # NaN sorts last, so the numbers' middle is known from their count.
    ordered = np.sort(rows, axis=0)
    columns = np.arange(rows.shape[1])
    middle = ordered[np.maximum(counts - 1, 0) // 2, columns]
    middle += ordered[np.minimum(counts // 2, len(rows) - 1), columns]
    found: Matrix = np.where(counts > 0, middle / 2.0, fallback)
    return found
