"""Prediction of a pair's distance from the raw matrix, by hosts similar to its ends."""

from __future__ import annotations

import numpy as np

from plink.solvers.embedding.observations import Matrix, Observations

# Hosts that are most like another one, whose readings predict that one's.
_NEIGHBOURS = 5
# Pairs that two hosts must have in common before their likeness means anything.
_LEAST_COMMON = 3


def neighbour_prediction(known: Observations) -> Matrix:
    """Return each distance as predicted by the hosts most similar to its ends, (N, N).

    The likeness of two hosts is the mean share by which their distances to third hosts differ.
    The prediction is the median over those of the nearest hosts that measured the pair; where
    none did, it is the median of all distances.
    """
    predicted = by_likeness(known)
    return (predicted + predicted.T) / 2.0


def by_likeness(known: Observations) -> Matrix:
    """Return in [i][j] the distance to j as the hosts most similar to i have it, (N, N)."""
    size = len(known.distance)
    predicted = np.empty((size, size))
    readings = np.where(known.is_measured, np.log(np.maximum(known.distance, 1e-12)), 0.0)
    measured = known.is_measured.astype(np.float64)
    common = measured @ measured.T
    # The squared difference over third hosts that both measured, by its three products.
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
    return predicted


def _medians(rows: Matrix, fallback: float) -> Matrix:
    """Return the median of each column's numbers; `fallback` for an empty column."""
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
