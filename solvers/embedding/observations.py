"""Measured distances in units of their median, for embeddings to fit and to be compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Below this share of the median a distance's relative error says nothing.
_LEAST_DISTANCE = 1e-3

# Hosts that are most like another one, whose readings predict that one's.
_NEIGHBOURS = 5
# Pairs that two hosts must have in common before their likeness means anything.
_LEAST_COMMON = 3


@dataclass(frozen=True)
class Observations:
    """Symmetric distances in units of their median, with a mask of measured pairs.

    Args:
        scale: the median of the measured distances, in their own unit.
        distance: (N, N), zero where not measured and on the diagonal.
        is_measured: (N, N), symmetric, false on the diagonal.
    """

    scale: float
    distance: Matrix
    is_measured: Mask

    @property
    def weight(self) -> Matrix:
        """Weight of each pair in a fit, (N, N): the inverse of its distance, 0 if not measured.

        A reading is off by a share of itself, so residuals count as shares: unweighted, the noise
        of far pairs would drown what near ones say, and near ones are what groups are made of.
        """
        floor = np.maximum(self.distance, _LEAST_DISTANCE)
        return np.where(self.is_measured, 1.0 / floor, 0.0)

    def without(self, pairs: Mask) -> Observations:
        """Return the observations with some pairs marked as not measured."""
        is_measured = self.is_measured & ~pairs
        return Observations(self.scale, np.where(is_measured, self.distance, 0.0), is_measured)


def observe(distance: Matrix) -> Observations:
    """Normalise a distance matrix by its median, with a mask of measured pairs.

    A pair that was measured in both directions counts with the smaller value: what disturbs a
    measurement makes it longer.

    Args:
        distance: (N, N), not negative, NaN where not measured; the diagonal does not count.

    Raises:
        ValueError: not square, negative, infinite, or nothing measured.
    """
    size = len(distance)
    if distance.shape != (size, size):
        raise ValueError(f"distance has shape {distance.shape}, expected a square matrix")
    symmetric = np.fmin(distance, distance.T)
    is_measured = ~np.isnan(symmetric)
    np.fill_diagonal(is_measured, val=False)
    values = symmetric[is_measured]
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError("distances must be finite and not negative, NaN where not measured")
    scale = float(np.median(values)) if values.size else 0.0
    if scale <= 0.0:
        raise ValueError("the data are too sparse: no distance was measured, or most are zero")
    return Observations(scale, np.where(is_measured, symmetric / scale, 0.0), is_measured)


def predict_by_neighbours(known: Observations) -> Matrix:
    """Predict each distance from the readings of hosts most similar to its ends, (N, N).

    The likeness of two hosts is the mean share by which their distances to third hosts differ.
    The prediction is the median over those of the nearest hosts that measured the pair; where
    none did, it is the median of all distances.
    """
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
        predicted[host] = _take_medians(gaps[nearest[host][usable[host]]], overall)
    return (predicted + predicted.T) / 2.0


def _take_medians(rows: Matrix, fallback: float) -> Matrix:
    """Return the median of each column's numbers; `fallback` for an empty column."""
    counts = (~np.isnan(rows)).sum(axis=0)
    if not counts.any():
        return np.full(rows.shape[1], fallback)
    # NaN sorts last, so the numbers' middle is known from their count.
    ordered, columns = np.sort(rows, axis=0), np.arange(rows.shape[1])
    middle = ordered[np.maximum(counts - 1, 0) // 2, columns]
    middle += ordered[np.minimum(counts // 2, len(rows) - 1), columns]
    medians: Matrix = np.where(counts > 0, middle / 2.0, fallback)
    return medians
