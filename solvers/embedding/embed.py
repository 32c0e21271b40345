"""Embedding of hosts as points: choice of dimensions, fit, comparison with the raw readings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from plink.solvers.embedding.fit import Fit, Shape, fit_points, start
from plink.solvers.embedding.held_out import (
    LEAST_GAIN,
    Errors,
    Split,
    choose_simplest,
    mean_error,
    prediction_errors,
    split_halves,
    split_pairs,
)
from plink.solvers.embedding.observations import (
    Matrix,
    Observations,
    observe,
    predict_by_neighbours,
)

# Three dimensions are where the optimisation finds the coarse shape; others go on from there.
_FIRST = 3
_STEPS, _STEPS_TO_COMPARE, _STEPS_AT_LAST = 50, 25, 40

DIMENSIONS = (2, 3, 5, 8, 12, 16)

# A point has as many unknowns as dimensions; so many measured pairs must speak for each. Where
# other readings of the same pairs judge, an embedding that has too many unknowns is seen.
_PAIRS_PER_UNKNOWN = 2.0
_PAIRS_PER_UNKNOWN_OF_HALVES = 1.0


@dataclass(frozen=True)
class Embedding:
    """Embedding of N hosts as points, whose distances match the measured ones.

    Args:
        points: (N, D), in the unit of the distances.
        heights: (N,) what each host adds to all its distances, in their unit; zero if not fitted.
        held_out_error: the mean share by which held-out readings were missed, at most 1 each.
        neighbour_error: the same for the raw matrix, which predicts a pair by the hosts that are
            most like its ends.
    """

    points: Matrix
    heights: npt.NDArray[np.float64]
    held_out_error: float
    neighbour_error: float

    @property
    def dimensions(self) -> int:
        """Number of coordinates of each host's point."""
        return int(self.points.shape[1])

    @property
    def distance(self) -> Matrix:
        """Distances between points plus both heights, (N, N), in the unit of the readings."""
        return Fit(self.points, self.heights, has_heights=True).distance

    @property
    def is_better_than_raw(self) -> bool:
        """Whether the embedding predicts held-out readings as well as the raw matrix, or better.

        It must predict what it has not seen as well as the raw matrix, or better: where it does
        not, points in few dimensions cannot hold what the raw matrix says.
        """
        return self.held_out_error <= self.neighbour_error


def embed(
    distance: Matrix,
    *,
    halves: tuple[Matrix, Matrix] | None = None,
    dimensions: int | None = None,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Embedding:
    """Fit points to measured distances, with the dimensions chosen by cross-validation (eq. 4.1).

    Residuals count as shares of the distance and through a pseudo-Huber loss (`Objective`). The
    optimiser is L-BFGS from a classical-scaling start, in three dimensions first. Dimensions and
    heights are the simplest whose error is as small as the best one's, to one standard error: on
    the other half of the readings where there are halves, else on held-out pairs.

    Args:
        distance: (N, N), not negative, NaN where not measured; need not be symmetric. With halves
            the least of both.
        halves: the readings of one half of the passes and of the other, each as `distance`: the
            noise of one must say nothing of the other's.
        dimensions: dimensions of the points, which then have no heights; None chooses both.
        seed: which pairs are held out.
        on_progress: told the dimensions that are being fitted.

    Raises:
        ValueError: values that cannot be, or data that are too sparse to say anything.
    """
    observations = observe(distance)
    pairs_per_unknown = _PAIRS_PER_UNKNOWN if halves is None else _PAIRS_PER_UNKNOWN_OF_HALVES
    candidates = _list_dimensions(observations, dimensions, pairs_per_unknown)
    rng = np.random.default_rng([seed, 0xE3B])
    if halves is None:
        splits = split_pairs(observations, rng)
    else:
        first, second = (observe(half) for half in halves)
        if not len(first.distance) == len(second.distance) == len(distance):
            raise ValueError(
                f"halves are readings of {len(first.distance)} and {len(second.distance)} hosts, "
                f"expected {len(distance)} as in distance"
            )
        splits = split_halves(first, second, rng)
    kinds = [False, True] if dimensions is None else [False]
    chosen, error = _choose_shape(splits, candidates, kinds, rng, on_progress)
    best = fit_points(observations, chosen, chosen.shape.dimensions, _STEPS_AT_LAST, rng)
    by_neighbours = [predict_by_neighbours(split.known) for split in splits]
    return Embedding(
        points=best.points * observations.scale,
        heights=best.heights * observations.scale,
        held_out_error=error,
        neighbour_error=mean_error(prediction_errors(splits, by_neighbours)),
    )


def _choose_shape(
    splits: Sequence[Split],
    sizes: Sequence[int],
    kinds: Sequence[bool],
    rng: np.random.Generator,
    on_progress: Callable[[str], None] | None,
) -> tuple[Fit, float]:
    """Return a fit with the fewest dimensions that predict held-out readings well, and its error.

    Whether there are heights is decided in few dimensions; more are tried as long as they help.

    Args:
        splits: splits of the readings; at least one.
        sizes: the dimensions to choose from, fewest first.
        kinds: with or without heights.
        rng: small steps into further dimensions.
        on_progress: told the dimensions that are being fitted.
    """
    first = min(_FIRST, len(splits[0].judge) - 1)
    middle = min(sizes, key=lambda size: abs(size - first))
    errors: dict[Shape, Errors] = {}
    fits: dict[Shape, list[Fit]] = {}

    def fit(begin: Sequence[Fit], size: int, most_steps: int) -> list[Fit]:
        if on_progress is not None:
            on_progress(f"{size} dimensions")
        pairs = zip(splits, begin, strict=True)
        return [fit_points(split.known, each, size, most_steps, rng) for split, each in pairs]

    def judge(candidate: list[Fit]) -> Shape:
        shape = candidate[0].shape
        errors[shape] = prediction_errors(splits, [each.distance for each in candidate])
        fits[shape] = candidate
        return shape

    coarse: dict[bool, list[Fit]] = {}
    for has_heights in kinds:
        begin = [start(split.known, Shape(first, has_heights)) for split in splits]
        coarse[has_heights] = fitted = fit(begin, first, _STEPS)
        judge(fitted if middle == first else fit(fitted, middle, _STEPS_TO_COMPARE))
    kind = choose_simplest(errors).has_heights
    shape = Shape(middle, kind)
    for size in (size for size in sizes if size > middle):
        before, shape = shape, judge(fit(fits[shape], size, _STEPS_TO_COMPARE))
        if mean_error(errors[shape]) >= (1.0 - LEAST_GAIN) * mean_error(errors[before]):
            break
    for size in (size for size in sizes if size < middle):
        judge(fit(coarse[kind], size, _STEPS_TO_COMPARE))
    best = choose_simplest(errors)
    return fits[best][0], mean_error(errors[best])


def _list_dimensions(
    observations: Observations, dimensions: int | None, pairs_per_unknown: float
) -> Sequence[int]:
    """Return the numbers of dimensions for which there are enough measured pairs, ascending.

    Raises:
        ValueError: no dimensions, or not those that were asked for.
    """
    size = len(observations.distance)
    if dimensions is not None and not 1 <= dimensions < size:
        raise ValueError(f"dimensions is {dimensions}, expected 1 to {size - 1} for {size} hosts")
    partners = observations.is_measured.sum(axis=1)
    pairs = int(partners.sum()) // 2
    parts, _ = connected_components(observations.is_measured.astype(np.int8), directed=False)
    if parts > 1:
        raise ValueError(
            f"the data are too sparse: no measured pairs join {parts} parts of the {size} hosts"
        )
    wanted = DIMENSIONS if dimensions is None else (dimensions,)
    # Free coordinates, not counting translation and rotation.
    unknowns = {each: size * each - each * (each + 1) // 2 for each in wanted}
    supported = [
        each
        for each in wanted
        if each < min(size, int(partners.min())) and pairs >= pairs_per_unknown * unknowns[each]
    ]
    if not supported:
        raise ValueError(
            f"the data are too sparse: {pairs} measured pairs of {size} hosts, at least "
            f"{int(partners.min())} a host, do not determine points in {wanted[0]} dimensions"
        )
    return supported
