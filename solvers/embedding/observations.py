"""Measured distances, normalised for an embedding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# Below this share of the median a distance's relative error says nothing.
_LEAST_DISTANCE = 1e-3


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
        """Inverse of each distance, (N, N), zero where not measured.

        A reading is off by a share of itself, so residuals count as shares: unweighted, the noise
        of far pairs would drown what near ones say, and near ones are what groups are made of.
        """
        floor = np.maximum(self.distance, _LEAST_DISTANCE)
        return np.where(self.is_measured, 1.0 / floor, 0.0)

    def without(self, pairs: Mask) -> Observations:
        """Return the observations without these pairs."""
        is_measured = self.is_measured & ~pairs
        return Observations(self.scale, np.where(is_measured, self.distance, 0.0), is_measured)


def observe(distance: Matrix) -> Observations:
    """Return a matrix of distances as observations.

    A pair that was measured in both directions counts with the smaller value: what disturbs a
    measurement makes it longer.

    Args:
        distance: (N, N), not negative, NaN where not measured; the diagonal does not count.

    Raises:
        ValueError: not square, negative, infinite, or nothing measured.
    """
    size = len(distance)
    if distance.shape != (size, size):
        raise ValueError(f"expected a square matrix, found shape {distance.shape}")
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
