"""Embedding of hosts: choice of shape, fit, and comparison with the raw readings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from plink.solvers.embedding import held_out
from plink.solvers.embedding.fit import EmbeddingShape, Fit, fit_points, predict_distances, start
from plink.solvers.embedding.held_out import (
    LEAST_GAIN,
    Split,
    choose_simplest,
    mean_error,
    prediction_errors,
)
from plink.solvers.embedding.observations import Matrix, Observations, neighbour_prediction, observe
from plink.solvers.embedding.triplets import Gain, measure_order_gain

# Three dimensions are where the optimisation finds the coarse shape; others go on from there.
_FIRST = 3
_STEPS = 50
_STEPS_TO_COMPARE = 25

DIMENSIONS = (2, 3, 5, 8, 12, 16)

# A point has as many unknowns as dimensions; so many measured pairs must speak for each. Where
# other readings of the same pairs judge, an embedding that has too many unknowns is seen.
_PAIRS_PER_UNKNOWN = 2.0
_PAIRS_PER_UNKNOWN_OF_HALVES = 1.0
_STEPS_AT_LAST = 40
# The raw matrix predicts by a mean of readings, of which a reading itself has more noise.
_MOST_ABOVE_RAW = 1.1


@dataclass(frozen=True)
class ChosenShape:
    """Shape chosen for an embedding, with the prediction errors it was chosen by.

    Args:
        fits: fits of that shape, to what each split knows.
        error: the mean share by which they missed what judges them.
    """

    fits: Sequence[Fit]
    error: float


def choose(
    splits: Sequence[Split],
    sizes: Sequence[int],
    kinds: Sequence[bool],
    *,
    alpha: float,
    rng: np.random.Generator,
    on_progress: Callable[[str], None] | None,
) -> ChosenShape:
    """Return the simplest shape whose prediction errors are as good as the best one's.

    Whether there are heights is decided in few dimensions; more are tried as long as they help.

    Args:
        splits: splits of the readings; at least one.
        sizes: the dimensions to choose from, fewest first.
        kinds: with or without heights.
        alpha: the power of eq. 4.1.
        rng: small steps into further dimensions.
        on_progress: told the dimensions that are being fitted.
    """
    first = min(_FIRST, len(splits[0].judge) - 1)
    middle = min(sizes, key=lambda size: abs(size - first))
    missed_by: dict[EmbeddingShape, npt.NDArray[np.float64]] = {}
    fits: dict[EmbeddingShape, list[Fit]] = {}

    def fit(begin: Sequence[Fit], size: int, most_steps: int) -> list[Fit]:
        if on_progress is not None:
            on_progress(f"{size} dimensions")
        return [
            fit_points(split.known, one, size, most_steps, rng)
            for split, one in zip(splits, begin, strict=True)
        ]

    def judge(found: list[Fit]) -> EmbeddingShape:
        shape = found[0].shape
        missed_by[shape] = prediction_errors(splits, [one.distance for one in found])
        fits[shape] = found
        return shape

    coarse: dict[bool, list[Fit]] = {}
    for has_heights in kinds:
        begin = [start(split.known, EmbeddingShape(first, has_heights), alpha) for split in splits]
        coarse[has_heights] = found = fit(begin, first, _STEPS)
        judge(found if middle == first else fit(found, middle, _STEPS_TO_COMPARE))
    kind = choose_simplest(missed_by).has_heights
    shape = EmbeddingShape(middle, kind)
    for size in (size for size in sizes if size > middle):
        before, shape = shape, judge(fit(fits[shape], size, _STEPS_TO_COMPARE))
        if mean_error(missed_by[shape]) >= (1.0 - LEAST_GAIN) * mean_error(missed_by[before]):
            break
    for size in (size for size in sizes if size < middle):
        judge(fit(coarse[kind], size, _STEPS_TO_COMPARE))
    best = choose_simplest(missed_by)
    return ChosenShape(fits[best], mean_error(missed_by[best]))


@dataclass(frozen=True)
class Embedding:
    """Embedding of N hosts as points, whose distances match the measured ones.

    Args:
        points: (N, D), in the unit of the distances to the power of 1 / alpha.
        heights: (N,) what each host adds to all its distances, in their unit; zero if not fitted.
        alpha: the power of eq. 4.1.
        objective: eq. 4.1 over the measured pairs, in the square of the distances' unit.
        held_out_error: the mean share by which held-out readings were missed (capped, see
            `held_out.Split`).
        neighbour_error: the same for the raw matrix, which predicts a pair by the hosts that are
            most like its ends.
        steps: steps of the optimiser, in all.
        gain: how much better it orders triplets than the readings; None where there are no halves
            of the readings to tell.
    """

    points: Matrix
    heights: npt.NDArray[np.float64]
    alpha: float
    objective: float
    held_out_error: float
    neighbour_error: float
    steps: int
    gain: Gain | None = None

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a point."""
        return int(self.points.shape[1])

    @property
    def distance(self) -> Matrix:
        """Distances between the points, (N, N); symmetric, zero diagonal."""
        return predict_distances(self.points, self.heights, self.alpha)

    @property
    def is_better_than_raw(self) -> bool:
        """Whether the embedding's distances should replace the readings.

        It must predict what it has not seen about as well as the raw matrix, or better: where it
        does not, points in few dimensions cannot hold what the raw matrix says. With halves of the
        readings it must also order triplets of the other half better than the readings of this
        one.
        """
        predicts = self.held_out_error <= _MOST_ABOVE_RAW * self.neighbour_error
        return predicts and (self.gain is None or self.gain.is_clear)


def embed(
    distance: Matrix,
    *,
    halves: tuple[Matrix, Matrix] | None = None,
    dimensions: int | None = None,
    alpha: float = 1.0,
    heights: bool | None = None,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Embedding:
    """Return the embedding whose distances match the measured ones best (Luo 2020, eq. 4.1).

    Residuals count as shares of the distance and through a pseudo-Huber loss (`Objective`). The
    optimiser is L-BFGS from a classical-scaling start, in three dimensions first. Dimensions and
    heights are the simplest whose error is as small as the best one's, to one standard error: on
    the other half of the readings where there are halves, else on held-out pairs.

    Args:
        distance: (N, N), not negative, NaN where not measured; need not be symmetric. With halves
            the least of both.
        halves: the readings of one half of the passes and of the other, each as `distance`: the
            noise of one must say nothing of the other's.
        dimensions: dimensions of the points; None chooses.
        alpha: from 1 (distances are fitted as they are) to 2 (long ones are compacted).
        heights: whether each host has a part of its distances to itself, not negative; None
            chooses where the dimensions are chosen, and has none where they are given.
        seed: which pairs are held out.
        on_progress: told the dimensions that are being fitted.

    Raises:
        ValueError: values that cannot be, or data that are too sparse to say anything.
    """
    if not 1.0 <= alpha <= 2.0:
        raise ValueError(f"alpha is {alpha}, expected 1 to 2")
    observations = observe(distance)
    pairs_per_unknown = _PAIRS_PER_UNKNOWN if halves is None else _PAIRS_PER_UNKNOWN_OF_HALVES
    candidates = _candidates(observations, dimensions, pairs_per_unknown)
    rng = np.random.default_rng([seed, 0xE3B])
    parts = None if halves is None else _observed_halves(observations, halves)
    if parts is None:
        splits = held_out.split_pairs(observations, rng)
    else:
        splits = held_out.split_halves(*parts, rng)
    kinds = [heights] if heights is not None else [False, True] if dimensions is None else [False]
    chosen = choose(splits, candidates, kinds, alpha=alpha, rng=rng, on_progress=on_progress)

    def whole(known: Observations, begin: Fit) -> Fit:
        return fit_points(known, begin, begin.shape.dimensions, _STEPS_AT_LAST, rng)

    final = whole(observations, chosen.fits[0])
    gain = None
    if parts is not None:
        # Splits are of the first half, the second, the first again and so on.
        of_halves = [whole(known, fit) for known, fit in zip(parts, chosen.fits, strict=False)]
        gain = measure_order_gain(parts, of_halves, rng)
    neighbours = [neighbour_prediction(split.known) for split in splits]
    return Embedding(
        points=final.points * observations.scale ** (1.0 / alpha),
        heights=final.heights * observations.scale,
        alpha=alpha,
        objective=_objective(observations, final),
        held_out_error=chosen.error,
        neighbour_error=held_out.mean_error(held_out.prediction_errors(splits, neighbours)),
        steps=final.steps,
        gain=gain,
    )


def _observed_halves(
    observations: Observations, halves: tuple[Matrix, Matrix]
) -> tuple[Observations, Observations]:
    """Return the two halves of the readings as normalised observations.

    Raises:
        ValueError: they are of other hosts, or not distances.
    """
    first, second = (observe(half) for half in halves)
    shape = observations.distance.shape
    if first.distance.shape != shape or second.distance.shape != shape:
        raise ValueError(f"expected halves of {shape[0]} hosts, as many as there are distances")
    return first, second


def _candidates(
    observations: Observations, dimensions: int | None, pairs_per_unknown: float
) -> Sequence[int]:
    """Return the numbers of dimensions that the data can support, ascending.

    Raises:
        ValueError: no dimensions, or not those that were asked for.
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
        and pairs >= pairs_per_unknown * _unknowns(size, candidate)
    ]
    if not found:
        least = wanted[0]
        raise ValueError(
            f"the data are too sparse: {pairs} measured pairs of {size} hosts, at least "
            f"{int(partners.min())} a host, do not determine points in {least} dimensions"
        )
    return found


def _unknowns(size: int, dimensions: int) -> int:
    """Return the number of free coordinates, not counting translation and rotation."""
    return size * dimensions - dimensions * (dimensions + 1) // 2


def _components(is_measured: npt.NDArray[np.bool_]) -> int:
    count, _ = connected_components(is_measured.astype(np.int8), directed=False)
    return int(count)


def _objective(observations: Observations, fit: Fit) -> float:
    """Return the value of eq. 4.1 as in the paper: plain squares, each measured pair once."""
    missed = (fit.distance - observations.distance)[observations.is_measured]
    return float((missed**2).sum() / 2.0) * observations.scale**2
