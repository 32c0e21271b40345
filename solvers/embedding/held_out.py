"""Cross-validation of embeddings: held-out readings, and prediction errors on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.embedding.fit import Shape
from plink.solvers.embedding.observations import Mask, Matrix, Observations

# (P,) the relative error of each held-out distance, at most 1.
Errors = npt.NDArray[np.float64]

_SHARE = 0.2
# A host keeps at least this many measured partners.
_LEAST_PARTNERS = 3
# A pair that is missed by more counts as missed by this much: it is an outlier.
_MOST_ERROR = 1.0
# More dimensions that miss by so small a share less are not worth having.
LEAST_GAIN = 0.01
# With more hosts than these one part of the pairs says enough, and one half of the readings.
_MOST_TO_FOLD = 64
_MOST_TO_SWAP = 128


@dataclass(frozen=True)
class Split:
    """Readings to fit an embedding to, and held-out readings to judge it by.

    Args:
        known: N hosts.
        judge: (N, N) in units of `known.scale`, zero where not measured.
        judged: (N, N), symmetric: the pairs that count.
    """

    known: Observations
    judge: Matrix
    judged: Mask


def split_pairs(observations: Observations, rng: np.random.Generator) -> list[Split]:
    """Return splits of the measured pairs, each with some held out to judge a fit by."""
    return [
        Split(observations.without(held), observations.distance, held)
        for held in _draw_folds(observations.is_measured, rng)
    ]


def split_halves(
    first: Observations, second: Observations, rng: np.random.Generator
) -> list[Split]:
    """Return splits that fit the readings of one half of the passes and judge by the other.

    Where pairs are missing, a fit must predict them too: there it is judged by held-out pairs.
    """
    both = first.is_measured & second.is_measured
    is_complete = int(both.sum()) == len(both) * (len(both) - 1)
    splits = []
    for held in [None] if is_complete else _draw_folds(both, rng):
        for known, other in ((first, second), (second, first)):
            judge = other.distance * (other.scale / known.scale)
            left = known if held is None else known.without(held)
            splits.append(Split(left, judge, both if held is None else held))
    return splits if len(both) <= _MOST_TO_SWAP else splits[:1]


def _draw_folds(is_measured: Mask, rng: np.random.Generator) -> list[Mask]:
    """Draw masks of pairs to hold out, (N, N), each of which leaves every host some partners.

    With few hosts each pair is in one of them, if it can be spared; with many, one is enough.
    """
    pairs = rng.permutation(np.argwhere(np.triu(is_measured, 1)))
    wanted = int(_SHARE * len(pairs))
    masks = []
    for fold in range(round(1.0 / _SHARE) if len(is_measured) <= _MOST_TO_FOLD else 1):
        partners = is_measured.sum(axis=1)
        held = np.zeros_like(is_measured)
        for pair in pairs[fold * wanted : (fold + 1) * wanted]:
            if partners[pair].min() > _LEAST_PARTNERS:
                held[tuple(pair)] = held[tuple(pair[::-1])] = True
                partners[pair] -= 1
        masks.append(held)
    return masks


def prediction_errors(splits: Sequence[Split], predictions: Sequence[Matrix]) -> Errors:
    """Return the relative errors of predicted held-out distances, of all splits, concatenated."""
    errors = []
    for split, predicted in zip(splits, predictions, strict=True):
        pairs = np.triu(split.judged, 1)
        judge = split.judge[pairs]
        floor = np.maximum(judge, np.finfo(np.float64).tiny)
        errors.append(np.minimum(np.abs(predicted[pairs] - judge) / floor, _MOST_ERROR))
    return np.concatenate(errors)


def mean_error(errors: Errors) -> float:
    """Return the mean of relative errors; infinite with fewer than two."""
    return float(errors.mean()) if errors.size >= 2 else np.inf


def choose_simplest(errors: Mapping[Shape, Errors]) -> Shape:
    """Return the simplest model whose error is within one standard error of the least.

    The error is that of the difference of both, pair by pair; what differs by `LEAST_GAIN` or less
    is as good.
    """
    best = min(errors, key=lambda shape: mean_error(errors[shape]))
    as_good = [shape for shape in errors if _is_as_good(errors[shape], errors[best])]
    return min(as_good, key=lambda shape: shape.rank)


def _is_as_good(errors: Errors, least: Errors) -> bool:
    if errors.size < 2:
        return True
    difference = errors - least
    chance = difference.std() / np.sqrt(difference.size)
    return bool(difference.mean() <= max(chance, LEAST_GAIN * least.mean()))
