"""Choice of an embedding's number of dimensions, and of host heights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.embedding.fit import EmbeddingShape, Fit, fit_points, start
from plink.solvers.embedding.held_out import LEAST_GAIN, Split, mean, prediction_errors, simplest

# Three dimensions are where the optimisation finds the coarse shape; others go on from there.
_FIRST = 3
_STEPS = 50
_STEPS_TO_COMPARE = 25


@dataclass(frozen=True)
class ChosenShape:
    """Chosen shape of an embedding, with its prediction errors.

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
    """Return the simplest shape whose held-out errors are as good as the best one's.

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

    def judged(found: list[Fit]) -> EmbeddingShape:
        shape = found[0].shape
        missed_by[shape] = prediction_errors(splits, [one.distance for one in found])
        fits[shape] = found
        return shape

    coarse: dict[bool, list[Fit]] = {}
    for has_heights in kinds:
        begin = [start(split.known, EmbeddingShape(first, has_heights), alpha) for split in splits]
        coarse[has_heights] = found = fit(begin, first, _STEPS)
        judged(found if middle == first else fit(found, middle, _STEPS_TO_COMPARE))
    kind = simplest(missed_by).has_heights
    shape = EmbeddingShape(middle, kind)
    for size in (size for size in sizes if size > middle):
        before, shape = shape, judged(fit(fits[shape], size, _STEPS_TO_COMPARE))
        if mean(missed_by[shape]) >= (1.0 - LEAST_GAIN) * mean(missed_by[before]):
            break
    for size in (size for size in sizes if size < middle):
        judged(fit(coarse[kind], size, _STEPS_TO_COMPARE))
    best = simplest(missed_by)
    return ChosenShape(fits[best], mean(missed_by[best]))
