"""Least-squares fit of points, and of heights if wanted, to measured distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize

from plink.solvers.embedding.observations import Mask, Matrix, Observations

# Keeps gradients finite where points coincide; lengths are in units of the median distance.
_LEAST_SQUARED = 1e-12
# Rows of the matrix of pairs that fit into a processor's cache.
_BLOCK_ROWS = 64

# How far points step into dimensions that they have not used yet, in median distances.
_STEP = 0.05
_SHARE_OF_SMALLEST = 0.45

_TOLERANCE = 1e-5
_LEAST_CUTOFF = 1e-3
# From the median of absolute values to a normal distribution's standard deviation.
_MEDIAN_TO_DEVIATION = 1.4826


class Shape(NamedTuple):
    """Model of an embedding: the points' number of dimensions, and whether hosts have heights.

    Args:
        dimensions: D, of the points.
        has_heights: whether each host has a part of its distances to itself.
    """

    dimensions: int
    has_heights: bool

    @property
    def rank(self) -> tuple[int, bool]:
        """Sort key by simplicity: fewer dimensions first.

        Among as many, heights are: hosts of one rack are then one point, where without them each
        would need a dimension of its own to be as far from all the others.
        """
        return self.dimensions, not self.has_heights


@dataclass(frozen=True)
class Fit:
    """Fitted points and heights, in units of the median measured distance.

    Args:
        points: (N, D).
        heights: (N,) zero where not fitted.
        has_heights: whether they are.
    """

    points: Matrix
    heights: npt.NDArray[np.float64]
    has_heights: bool

    @property
    def shape(self) -> Shape:
        """Number of dimensions of the fitted points, and whether there are heights."""
        return Shape(self.points.shape[1], self.has_heights)

    @property
    def distance(self) -> Matrix:
        """Distances between the points with heights, (N, N); symmetric, zero diagonal."""
        distance = np.sqrt(square_distances(self.points, self.points))
        distance += self.heights[:, None] + self.heights[None, :]
        np.fill_diagonal(distance, 0.0)
        symmetric: Matrix = (distance + distance.T) / 2.0
        return symmetric


class Objective:
    """Loss of an embedding: sum over measured pairs of rho((d_ij + h_i + h_j - p_ij) / p_ij).

    rho is the pseudo-Huber loss 2 c^2 (sqrt(1 + (r / c)^2) - 1): r^2 for small residuals r, and
    growing no faster than |r| for large ones.

    Args:
        observations: measured distances p of N hosts.
        shape: the number of dimensions, and whether h is fitted, else it is zero.
        cutoff: c, where residuals begin to count as outliers.
    """

    def __init__(self, observations: Observations, shape: Shape, cutoff: float) -> None:
        self._target = observations.distance
        # Every pair is looked at once.
        self._upper = np.triu(observations.weight, 1)
        self._size = len(observations.distance)
        self._shape = shape
        self._cutoff = cutoff

    def unpack(self, parameters: npt.NDArray[np.float64]) -> tuple[Matrix, Matrix]:
        """Return the (N, D) points and (N,) heights that a vector of parameters holds."""
        split = self._size * self._shape.dimensions
        points = parameters[:split].reshape(self._size, self._shape.dimensions)
        return points, parameters[split:] if self._shape.has_heights else np.zeros(self._size)

    def __call__(
        self, parameters: npt.NDArray[np.float64]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the loss of a parameter vector and its gradient."""
        points, heights = self.unpack(parameters)
        value = 0.0
        by_point, by_height = np.zeros_like(points), np.zeros(self._size)
        for start in range(0, self._size, _BLOCK_ROWS):
            rows, columns = slice(start, start + _BLOCK_ROWS), slice(start, None)
            length = np.sqrt(square_distances(points[rows], points[columns]))
            weight = self._upper[rows, columns]
            residual = length + heights[rows, None]
            residual += heights[None, columns]
            residual -= self._target[rows, columns]
            residual *= weight
            root = np.sqrt(1.0 + (residual / self._cutoff) ** 2)
            # As the loss is defined, but without the difference of two numbers near 1.
            value += 2.0 * float((residual * residual / (root + 1.0)).sum())
            slope = 2.0 * residual * weight / root
            by_height[rows] += slope.sum(axis=1)
            by_height[columns] += slope.sum(axis=0)
            slope /= length
            by_point[rows] += slope.sum(axis=1)[:, None] * points[rows] - slope @ points[columns]
            by_point[columns] += slope.sum(axis=0)[:, None] * points[columns]
            by_point[columns] -= slope.T @ points[rows]
        parts = [by_point.ravel(), by_height] if self._shape.has_heights else [by_point.ravel()]
        return value, np.concatenate(parts)


def square_distances(rows: Matrix, columns: Matrix) -> Matrix:
    """Return squared distances between (R, D) and (C, D) points, (R, C), at least 1e-12."""
    squared: Matrix = rows @ columns.T
    squared *= -2.0
    squared += (rows * rows).sum(axis=1)[:, None]
    squared += (columns * columns).sum(axis=1)[None, :]
    np.maximum(squared, _LEAST_SQUARED, out=squared)
    return squared


def _scale_classically(distance: Matrix, is_measured: Mask, dimensions: int) -> Matrix:
    """Return starting points (N, D) by classical multidimensional scaling (Torgerson 1952).

    A pair that was not measured counts with the mean square, and what was is scaled up for it:
    so the estimate stays unbiased where gaps are random (Keshavan, Montanari and Oh, "Matrix
    completion from a few entries", 2010).
    """
    size = len(distance)
    squared = distance**2
    mean = float(squared[is_measured].mean())
    share = is_measured.sum() / (size * (size - 1))
    filled = np.where(is_measured, mean + (squared - mean) / share, mean)
    np.fill_diagonal(filled, 0.0)
    centred = filled - filled.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = eigh(-0.5 * centred, subset_by_index=[size - dimensions, size - 1])
    points: Matrix = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return points


def start(observations: Observations, shape: Shape) -> Fit:
    """Return a fit to start from: points by classical scaling, heights by each host's nearest.

    Heights start at just under half of each host's least distance, so that no pair's two heights
    are more than its distance.
    """
    distance, is_measured = observations.distance, observations.is_measured
    heights = np.zeros(len(distance))
    if shape.has_heights:
        heights = _SHARE_OF_SMALLEST * distance.min(axis=1, where=is_measured, initial=np.inf)
    rest = np.where(is_measured, distance - heights[:, None] - heights[None, :], 0.0)
    return Fit(_scale_classically(rest, is_measured, shape.dimensions), heights, shape.has_heights)


def fit_points(
    observations: Observations,
    begin: Fit,
    dimensions: int,
    most_steps: int,
    rng: np.random.Generator,
) -> Fit:
    """Return the fit that L-BFGS reaches from a starting fit of any dimension.

    Args:
        observations: N hosts.
        begin: of the same hosts.
        dimensions: dimensions of the points.
        most_steps: greatest number of steps of the optimiser.
        rng: small steps into dimensions that `begin` does not have.
    """
    begin = replace(begin, points=_change_dimensions(begin.points, dimensions, rng))
    residuals = (begin.distance - observations.distance) * observations.weight
    spread = float(np.median(np.abs(residuals[observations.is_measured])))
    objective = Objective(
        observations, begin.shape, max(_LEAST_CUTOFF, _MEDIAN_TO_DEVIATION * spread)
    )
    bounds: list[tuple[float | None, None]] = [(None, None)] * begin.points.size
    parameters = begin.points.ravel()
    if begin.has_heights:
        bounds += [(0.0, None)] * len(begin.heights)
        parameters = np.concatenate([parameters, begin.heights])
    best = minimize(
        objective,
        parameters,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds if begin.has_heights else None,
        options={"maxiter": most_steps, "ftol": _TOLERANCE},
    )
    points, heights = objective.unpack(best.x)
    return replace(begin, points=points, heights=heights)


def _change_dimensions(points: Matrix, dimensions: int, rng: np.random.Generator) -> Matrix:
    """Change the number of dimensions of points: keep principal axes, or add small random ones."""
    size, known = points.shape
    if dimensions < known:
        centred = points - points.mean(axis=0)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        reduced: Matrix = centred @ axes[:dimensions].T
        return reduced
    return np.hstack([points, rng.normal(0.0, _STEP, (size, dimensions - known))])
