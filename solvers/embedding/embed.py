"""An embedding of hosts: fit, choose its dimensions, and say whether it is to be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.embedding import held_out
from solvers.embedding.objective import Objective, squared_distances
from solvers.embedding.observations import Matrix, Observations, observe
from solvers.embedding.start import classical, fitted_to

DIMENSIONS = (2, 3, 5, 8)

# Three dimensions are where the optimisation finds the coarse shape; others go on from there.
_FIRST = 3
# A point has as many unknowns as dimensions; this many measured pairs must speak for each.
_PAIRS_PER_UNKNOWN = 2.0
_STEPS = 50
_STEPS_TO_COMPARE = 25
_STEPS_AT_LAST = 40
_TOLERANCE = 1e-5
_LEAST_CUTOFF = 1e-3
# The raw matrix predicts by a mean of readings, of which a reading itself has more noise.
_MOST_ABOVE_RAW = 1.25
# From the median of absolute values to a normal distribution's standard deviation.
_MEDIAN_TO_DEVIATION = 1.4826


@dataclass(frozen=True)
class Embedding:
    """N hosts as points.

    Args:
        points: (N, D), in the unit of the distances to the power of 1 / alpha.
        heights: (N,) what each host adds to all its distances, in their unit; zero if not fitted.
        alpha: the power of eq. 4.1.
        objective: eq. 4.1 over the measured pairs, in the square of the distances' unit.
        held_out_error: the mean share by which held-out distances were missed (capped, see
            `held_out.error`).
        neighbour_error: the same for the raw matrix, which predicts a pair by the hosts that are
            most like its ends.
        steps: of the optimiser, in all.
    """

    points: Matrix
    heights: npt.NDArray[np.float64]
    alpha: float
    objective: float
    held_out_error: float
    neighbour_error: float
    steps: int

    @property
    def dimensions(self) -> int:
        """How many coordinates a point has."""
        return int(self.points.shape[1])

    @property
    def distance(self) -> Matrix:
        """(N, N) the distances that the embedding stands for; symmetric, zero diagonal."""
        return _predicted(self.points, self.heights, self.alpha)

    @property
    def is_better_than_raw(self) -> bool:
        """Whether it predicted held-out distances about as well as the raw matrix did, or better.

        Where it did not, points in few dimensions cannot hold what the raw matrix says.
        """
        return self.held_out_error <= _MOST_ABOVE_RAW * self.neighbour_error


@dataclass(frozen=True)
class _Fit:
    points: Matrix
    heights: npt.NDArray[np.float64]
    steps: int


def embed(
    distance: Matrix,
    *,
    dimensions: int | None = None,
    alpha: float = 1.0,
    heights: bool = False,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Embedding:
    """Points whose distances agree with the measured ones: minimise Luo 2020, eq. 4.1.

    Residuals count as shares of the distance and through a pseudo-Huber loss (`Objective`). The
    optimiser is L-BFGS from a classical-scaling start, in three dimensions first.

    Args:
        distance: (N, N), not negative, NaN where not measured; need not be symmetric.
        dimensions: of the points; None chooses by held-out pairs.
        alpha: from 1 (distances are fitted as they are) to 2 (long ones are compacted).
        heights: whether each host has a part of its distances to itself, not negative.
        seed: which pairs are held out.
        on_progress: told the dimensions that are being fitted.

    Raises:
        ValueError: values that cannot be, or data that are too sparse to say anything.
    """
    if not 1.0 <= alpha <= 2.0:
        raise ValueError(f"alpha is {alpha}, expected 1 to 2")
    observations = observe(distance)
    candidates = _candidates(observations, dimensions)
    rng = np.random.default_rng([seed, 0xE3B])

    def fit(known: Observations, start: _Fit, size: int, most_steps: int) -> _Fit:
        if on_progress is not None:
            on_progress(f"{size} dimensions")
        points = fitted_to(start.points, size, rng)
        return _fitted(known, _Fit(points, start.heights, start.steps), alpha, heights, most_steps)

    held = held_out.choose(observations.is_measured, rng)
    known = observations.without(held)
    first = min(_FIRST, len(distance) - 1)
    start = _Fit(classical(known, first, alpha), np.zeros(len(distance)), 0)
    current = shape = fit(known, start, first, _STEPS)
    errors: dict[int, held_out.Error] = {}
    fits: dict[int, _Fit] = {}

    def judge(size: int, found: _Fit) -> None:
        predicted = _predicted(found.points, found.heights, alpha)
        errors[size] = held_out.error(predicted, observations, held)
        fits[size] = found

    for size in (size for size in candidates if size >= first):
        if size != first:
            current = fit(known, current, size, _STEPS_TO_COMPARE)
        judge(size, current)
    for size in (size for size in reversed(candidates) if size < first):
        # Where more dimensions than these are too few, so are these.
        if errors and held_out.simplest(errors) > min(errors):
            break
        judge(size, fit(known, shape, size, _STEPS_TO_COMPARE))
    best = held_out.simplest(errors)
    final = fit(observations, fits[best], best, _STEPS_AT_LAST)
    neighbours = held_out.neighbour_prediction(known)
    return Embedding(
        points=final.points * observations.scale ** (1.0 / alpha),
        heights=final.heights * observations.scale,
        alpha=alpha,
        objective=_objective(observations, final, alpha),
        held_out_error=errors[best].mean,
        neighbour_error=held_out.error(neighbours, observations, held).mean,
        steps=final.steps,
    )


def _candidates(observations: Observations, dimensions: int | None) -> Sequence[int]:
    """The dimensions that the data can say something about, fewest first.

    Raises:
        ValueError: none, or not those that were asked for.
    """
    size = len(observations.distance)
    if dimensions is not None and not 1 <= dimensions < size:
        raise ValueError(f"dimensions is {dimensions}, expected 1 to {size - 1} for {size} hosts")
    partners = observations.is_measured.sum(axis=1)
    pairs = int(partners.sum()) // 2
    groups = _components(observations.is_measured)
    if groups > 1:
        raise ValueError(
            f"the data are too sparse: no measurement connects {groups} parts of the {size} hosts"
        )
    wanted = DIMENSIONS if dimensions is None else (dimensions,)
    found = [
        candidate
        for candidate in wanted
        if candidate < size
        and partners.min() > candidate
        and pairs >= _PAIRS_PER_UNKNOWN * _unknowns(size, candidate)
    ]
    if not found:
        least = wanted[0]
        raise ValueError(
            f"the data are too sparse: {pairs} measured pairs of {size} hosts, at least "
            f"{int(partners.min())} a host, do not determine points in {least} dimensions"
        )
    return found


def _unknowns(size: int, dimensions: int) -> int:
    """Coordinates, less what moving and turning the whole leaves free."""
    return size * dimensions - dimensions * (dimensions + 1) // 2


def _components(is_measured: npt.NDArray[np.bool_]) -> int:
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    count, _ = connected_components(is_measured.astype(np.int8), directed=False)
    return int(count)


def _fitted(
    observations: Observations, start: _Fit, alpha: float, has_heights: bool, most_steps: int
) -> _Fit:
    from scipy.optimize import minimize  # noqa: PLC0415

    size, dimensions = start.points.shape

    def objective(cutoff: float) -> Objective:
        return Objective(
            observations, dimensions, alpha=alpha, has_heights=has_heights, cutoff=cutoff
        )

    residuals = objective(1.0).residuals(start.points, start.heights)
    spread = float(np.median(np.abs(residuals[observations.is_measured])))
    chosen = objective(max(_LEAST_CUTOFF, _MEDIAN_TO_DEVIATION * spread))
    free: list[tuple[float | None, float | None]] = [(None, None)] * (size * dimensions)
    found = minimize(
        chosen,
        chosen.packed(start.points, start.heights),
        jac=True,
        method="L-BFGS-B",
        bounds=[*free, *[(0.0, None)] * size] if has_heights else None,
        options={"maxiter": most_steps, "ftol": _TOLERANCE},
    )
    points, heights = chosen.unpacked(found.x)
    return _Fit(points, heights, start.steps + int(found.nit))


def _objective(observations: Observations, fit: _Fit, alpha: float) -> float:
    """Eq. 4.1 as the paper has it: plain squares, each measured pair once."""
    predicted = _predicted(fit.points, fit.heights, alpha)
    missed = (predicted - observations.distance)[observations.is_measured]
    return float((missed**2).sum() / 2.0) * observations.scale**2


def _predicted(points: Matrix, heights: npt.NDArray[np.float64], alpha: float) -> Matrix:
    distance: Matrix = squared_distances(points) ** (alpha / 2.0)
    distance += heights[:, None]
    distance += heights[None, :]
    np.fill_diagonal(distance, 0.0)
    return (distance + distance.T) / 2.0
