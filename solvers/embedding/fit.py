"""Least-squares fit of points, and of heights if wanted, to measured distances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.embedding.objective import Objective, squared_distances
from plink.solvers.embedding.observations import Matrix, Observations
from plink.solvers.embedding.start import change_dimensions, classical, smallest_halves

_TOLERANCE = 1e-5
_LEAST_CUTOFF = 1e-3
# From the median of absolute values to a normal distribution's standard deviation.
_MEDIAN_TO_DEVIATION = 1.4826


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
    """Fitted points, in units of the observations' scale.

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
    """Return starting points: classical scaling of the distances without the heights."""
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
    """Return the fit that L-BFGS finds from a given one, of any dimension.

    Args:
        observations: N hosts.
        begin: of the same hosts.
        dimensions: dimensions of the points.
        most_steps: greatest number of steps of the optimiser.
        rng: small steps into dimensions that `begin` does not have.
    """
    from scipy.optimize import minimize  # noqa: PLC0415

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
