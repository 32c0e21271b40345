"""Objective of Luo 2020, eq. 4.1, with a robust loss, and its gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from plink.solvers.embedding.observations import Matrix, Observations

# Keeps gradients finite where points coincide; lengths are in units of the median distance.
_LEAST_SQUARED = 1e-12
_BLOCK_ROWS = 64


class Objective:
    """Sum over measured pairs of rho((d_ij^alpha + h_i + h_j - p_ij) / p_ij).

    rho is the pseudo-Huber loss 2 c^2 (sqrt(1 + (r / c)^2) - 1): r^2 for small residuals, and
    growing no faster than |r| for large ones. With c infinite it is r^2, and with `weight` one
    wherever measured the sum is twice eq. 4.1, for each pair stands in it twice.

    Args:
        observations: N hosts.
        dimensions: D, of the points.
        alpha: from 1 to 2.
        has_heights: whether h is fitted, else it is zero.
        cutoff: c, where residuals begin to count as outliers.
        weight: (N, N), symmetric, what residuals are multiplied with; zero where not measured.
    """

    def __init__(
        self,
        observations: Observations,
        dimensions: int,
        *,
        alpha: float,
        has_heights: bool,
        cutoff: float,
        weight: Matrix | None = None,
    ) -> None:
        self._target = observations.distance
        self._weight = observations.weight if weight is None else weight
        # Every pair is looked at once.
        self._upper = np.triu(self._weight, 1)
        self._size = len(observations.distance)
        self._dimensions = dimensions
        self._alpha = alpha
        self._has_heights = has_heights
        self._cutoff = cutoff

    def unpack(self, parameters: npt.NDArray[np.float64]) -> tuple[Matrix, Matrix]:
        """Return the (N, D) points and (N,) heights in a vector of parameters."""
        split = self._size * self._dimensions
        points = parameters[:split].reshape(self._size, self._dimensions)
        return points, parameters[split:] if self._has_heights else np.zeros(self._size)

    def pack(self, points: Matrix, heights: Matrix) -> npt.NDArray[np.float64]:
        """Return points and heights as one vector of parameters."""
        parts = [points.ravel(), heights] if self._has_heights else [points.ravel()]
        return np.concatenate(parts)

    def residuals(self, points: Matrix, heights: Matrix) -> Matrix:
        """Return weighted residuals, (N, N); zero where not measured."""
        predicted = squared_distances(points) ** (self._alpha / 2.0)
        predicted += heights[:, None] + heights[None, :]
        return (predicted - self._target) * self._weight

    def __call__(
        self, parameters: npt.NDArray[np.float64]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the objective's value and its gradient."""
        points, heights = self.unpack(parameters)
        value = 0.0
        by_point = np.zeros_like(points)
        by_height = np.zeros(self._size)
        for start, end in self._blocks():
            rows, columns = slice(start, end), slice(start, None)
            residual, slope = self._distances_and_slopes(points[rows], points[columns])
            if self._has_heights:
                residual += heights[rows, None]
                residual += heights[None, columns]
            residual -= self._target[rows, columns]
            residual *= self._upper[rows, columns]
            root = residual / self._cutoff
            root *= root
            root += 1.0
            np.sqrt(root, out=root)
            # As the loss is defined, but without the difference of two numbers near 1.
            value += 4.0 * float((residual * residual / (root + 1.0)).sum())
            # By the predicted distance; a pair stands in the sum as (i, j) and as (j, i).
            residual *= self._upper[rows, columns]
            residual *= 4.0
            residual /= root
            if self._has_heights:
                by_height[rows] += residual.sum(axis=1)
                by_height[columns] += residual.sum(axis=0)
            residual *= slope
            by_point[rows] += residual.sum(axis=1)[:, None] * points[rows]
            by_point[rows] -= residual @ points[columns]
            by_point[columns] += residual.sum(axis=0)[:, None] * points[columns]
            by_point[columns] -= residual.T @ points[rows]
        if not self._has_heights:
            return value, by_point.ravel()
        return value, np.concatenate([by_point.ravel(), by_height])

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield blocks of rows that fit into a processor's cache."""
        for start in range(0, self._size, _BLOCK_ROWS):
            yield start, min(start + _BLOCK_ROWS, self._size)

    def _distances_and_slopes(self, rows: Matrix, columns: Matrix) -> tuple[Matrix, Matrix]:
        """Return distances between points and their derivatives, without heights."""
        squared = _squared_between(rows, columns)
        if self._alpha == 1.0:
            length = np.sqrt(squared)
            return length, np.divide(1.0, length)
        length = squared ** (self._alpha / 2.0)
        return length, self._alpha * length / squared


def squared_distances(points: Matrix) -> Matrix:
    """Return squared distances between (N, D) points, (N, N), never quite zero."""
    return _squared_between(points, points)


def _squared_between(rows: Matrix, columns: Matrix) -> Matrix:
    """Return squared distances between (R, D) and (C, D) points, never quite zero."""
    squared: Matrix = rows @ columns.T
    squared *= -2.0
    squared += (rows * rows).sum(axis=1)[:, None]
    squared += (columns * columns).sum(axis=1)[None, :]
    np.maximum(squared, _LEAST_SQUARED, out=squared)
    return squared
