"""Least-squares fit of points, and of heights if wanted, to measured distances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.optimize import minimize

from plink.solvers.embedding.observations import Matrix, Observations

# Keeps gradients finite where points coincide; lengths are in units of the median distance.
_LEAST_SQUARED = 1e-12
_BLOCK_ROWS = 64

# How far points step into dimensions that they have not used yet, in median distances.
_STEP = 0.05
_SHARE_OF_SMALLEST = 0.45

_TOLERANCE = 1e-5
_LEAST_CUTOFF = 1e-3
# From the median of absolute values to a normal distribution's standard deviation.
_MEDIAN_TO_DEVIATION = 1.4826


class Objective:
    """Loss of an embedding: sum over measured pairs of rho((d_ij^alpha + h_i + h_j - p_ij) / p_ij).

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
        """Return the weighted residuals of all pairs, (N, N); zero where not measured."""
        predicted = squared_distances(points) ** (self._alpha / 2.0)
        predicted += heights[:, None] + heights[None, :]
        return (predicted - self._target) * self._weight

    def __call__(
        self, parameters: npt.NDArray[np.float64]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the loss of a parameter vector and its gradient."""
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
        """Yield blocks of rows of the pairs' matrix that fit into a processor's cache."""
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


def classical(observations: Observations, dimensions: int, alpha: float) -> Matrix:
    """Return starting points (N, D) by classical multidimensional scaling (Torgerson 1952).

    A pair that was not measured counts with the mean square, and what was is scaled up for it:
    so the estimate stays unbiased where gaps are random (Keshavan, Montanari and Oh, "Matrix
    completion from a few entries", 2010).
    """
    size = len(observations.distance)
    is_measured = observations.is_measured
    squared = observations.distance ** (2.0 / alpha)
    mean = float(squared[is_measured].mean())
    share = is_measured.sum() / (size * (size - 1))
    filled = np.where(is_measured, mean + (squared - mean) / share, mean)
    np.fill_diagonal(filled, 0.0)
    centred = filled - filled.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = eigh(-0.5 * centred, subset_by_index=[size - dimensions, size - 1])
    points: Matrix = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return points


def change_dimensions(points: Matrix, dimensions: int, rng: np.random.Generator) -> Matrix:
    """Return points in another number of dimensions, by principal axes or small offsets."""
    size, known = points.shape
    if dimensions < known:
        centred = points - points.mean(axis=0)
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        reduced: Matrix = centred @ axes[:dimensions].T
        return reduced
    steps = rng.normal(0.0, _STEP, (size, dimensions - known))
    return np.hstack([points, steps])


def smallest_halves(observations: Observations) -> Matrix:
    """Return starting heights, (N,): just under half of each host's least distance.

    No pair's two heights are then more than its distance.
    """
    measured = np.where(observations.is_measured, observations.distance, np.inf)
    halves: Matrix = _SHARE_OF_SMALLEST * measured.min(axis=1)
    return halves


@dataclass(frozen=True)
class EmbeddingShape:
    """Shape of an embedding: number of dimensions, and whether hosts have heights.

    Args:
        dimensions: dimensions of the points.
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
    """Fitted points and heights, in units of the observations' scale.

    Args:
        points: (N, D).
        heights: (N,) zero where not fitted.
        has_heights: whether they are.
        alpha: the power of eq. 4.1.
        steps: steps of the optimiser, in all.
    """

    points: Matrix
    heights: npt.NDArray[np.float64]
    has_heights: bool
    alpha: float
    steps: int

    @property
    def shape(self) -> EmbeddingShape:
        """Shape of the fitted points."""
        return EmbeddingShape(int(self.points.shape[1]), self.has_heights)

    @property
    def distance(self) -> Matrix:
        """Distances between the fitted points, (N, N); symmetric, zero diagonal."""
        return predict_distances(self.points, self.heights, self.alpha)


def start(observations: Observations, shape: EmbeddingShape, alpha: float) -> Fit:
    """Return starting points of a fit: classical scaling of the distances without heights."""
    size = len(observations.distance)
    heights = smallest_halves(observations) if shape.has_heights else np.zeros(size)
    rest = observations.distance - heights[:, None] - heights[None, :]
    left = replace(observations, distance=np.where(observations.is_measured, rest, 0.0))
    points = classical(left, shape.dimensions, alpha)
    return Fit(points, heights, shape.has_heights, alpha, 0)


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
    size = len(observations.distance)
    points = change_dimensions(begin.points, dimensions, rng)

    def objective(cutoff: float) -> Objective:
        return Objective(
            observations,
            dimensions,
            alpha=begin.alpha,
            has_heights=begin.has_heights,
            cutoff=cutoff,
        )

    residuals = objective(1.0).residuals(points, begin.heights)
    spread = float(np.median(np.abs(residuals[observations.is_measured])))
    chosen = objective(max(_LEAST_CUTOFF, _MEDIAN_TO_DEVIATION * spread))
    free: list[tuple[float | None, float | None]] = [(None, None)] * (size * dimensions)
    found = minimize(
        chosen,
        chosen.pack(points, begin.heights),
        jac=True,
        method="L-BFGS-B",
        bounds=[*free, *[(0.0, None)] * size] if begin.has_heights else None,
        options={"maxiter": most_steps, "ftol": _TOLERANCE},
    )
    points, heights = chosen.unpack(found.x)
    return replace(begin, points=points, heights=heights, steps=begin.steps + int(found.nit))


def predict_distances(points: Matrix, heights: npt.NDArray[np.float64], alpha: float) -> Matrix:
    """Return the distances between points with heights, (N, N); zero diagonal."""
    distance: Matrix = squared_distances(points) ** (alpha / 2.0)
    distance += heights[:, None]
    distance += heights[None, :]
    np.fill_diagonal(distance, 0.0)
    return (distance + distance.T) / 2.0
