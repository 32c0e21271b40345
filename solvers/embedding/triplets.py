"""Comparison of distances by how they order host triplets, judged by independent readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.embedding.fit import Fit
from plink.solvers.embedding.observations import Matrix, Observations, predict_by_similar

# So many triplets tell an order's accuracy to a tenth of a per cent.
_MOST_TRIPLETS = 100_000
# Distances differ clearly where they do by so many times what readings and the judge differ by.
# What is much farther tells groups apart; where it decides nothing, closer ones are asked.
_CLEAR = (4.0, 2.0)
# With fewer clear triplets than this share of those looked at, a few pairs decide.
_LEAST_SHARE = 0.01
# A gain is more than chance from so many standard errors on.
_SURE = 1.0
# From the median of absolute values to a normal distribution's standard deviation.
_MEDIAN_TO_DEVIATION = 1.4826


@dataclass(frozen=True)
class Triplets:
    """Triplets of one host and two others, of which independent readings show the nearer one.

    Args:
        observer, nearer, farther: (T,) hosts.
    """

    observer: npt.NDArray[np.intp]
    nearer: npt.NDArray[np.intp]
    farther: npt.NDArray[np.intp]

    def agreement(self, distance: Matrix) -> npt.NDArray[np.float64]:
        """Return how distances order each triplet: 1 right, 0.5 equal, 0 wrong, (T,)."""
        near = distance[self.observer, self.nearer]
        far = distance[self.observer, self.farther]
        found: npt.NDArray[np.float64] = (near < far) + 0.5 * (near == far)
        return found


@dataclass(frozen=True)
class Gain:
    """Gain of an embedding over raw readings in ordering triplets of hosts.

    Args:
        readings: the share of triplets that the readings order as the judge does.
        mean: the share that the embedding does, less that; NaN where too few triplets are clear.
        deviation: the standard error of the mean, over observers.
    """

    readings: float
    mean: float
    deviation: float

    @property
    def is_clear(self) -> bool:
        """Whether the gain exceeds its standard error."""
        return self.mean > _SURE * self.deviation


def measure_order_gain(
    halves: Sequence[Observations], fits: Sequence[Fit], rng: np.random.Generator
) -> Gain:
    """Return how much better an embedding of half the readings orders the other half.

    Args:
        halves: halves of the readings, of N hosts.
        fits: to the first of them or to both.
        rng: which triplets are looked at.
    """
    for clear in _CLEAR:
        found = _gain(halves, fits, clear, rng)
        if found.mean < 0.0 or found.is_clear:
            break
    return found


def _gain(
    halves: Sequence[Observations], fits: Sequence[Fit], clear: float, rng: np.random.Generator
) -> Gain:
    size = len(halves[0].distance)
    triplets, right, gained = np.zeros((3, size))
    for half, judge, fit in zip(halves, reversed(halves), fits, strict=False):
        readings, judged = restore_gaps(half), cap_by_shortest_paths(judge)
        differences = np.abs(np.log(readings * half.scale / (judged * judge.scale)))
        margin = clear * _MEDIAN_TO_DEVIATION * float(np.nanmedian(differences))
        found = clear_triplets(np.where(np.isnan(readings), np.nan, judged), margin, rng)
        by_readings = found.agreement(readings)
        triplets += np.bincount(found.observer, minlength=size)
        right += np.bincount(found.observer, by_readings, size)
        more = found.agreement(fit.distance) - by_readings
        gained += np.bincount(found.observer, more, size)
    total = float(triplets.sum())
    looked_at = min(_MOST_TRIPLETS, _count(size)) * min(len(halves), len(fits))
    if total <= _LEAST_SHARE * looked_at:
        return Gain(np.nan, np.nan, np.inf)
    mean = float(gained.sum()) / total
    deviation = float(np.sqrt(((gained - mean * triplets) ** 2).sum())) / total
    return Gain(float(right.sum()) / total, mean, deviation)


def restore_gaps(observations: Observations) -> Matrix:
    """Return the distances with NaN where no pair was measured, (N, N)."""
    found: Matrix = np.where(observations.is_measured, observations.distance, np.nan)
    return found


def cap_by_shortest_paths(judge: Observations) -> Matrix:
    """Return the distances capped by shortest paths, (N, N); NaN where not measured.

    A pair that is farther than the hosts most like either end have it counts as those do: what
    disturbs a pair, also for long, makes it longer. None of that is a reason to trust the readings
    that show it again.
    """
    likely = predict_by_similar(judge)
    return np.minimum(restore_gaps(judge), np.maximum(likely, likely.T))


def clear_triplets(judge: Matrix, margin: float, rng: np.random.Generator) -> Triplets:
    """Return triplets whose two distances differ by more than a margin in other readings.

    Args:
        judge: (N, N), NaN where not measured.
        margin: in logarithms of distances.
        rng: which triplets are looked at where there are too many for all of them.
    """
    size = len(judge)
    if _count(size) <= _MOST_TRIPLETS:
        one, other = np.triu_indices(size, 1)
        observer = np.repeat(np.arange(size), one.size)
        one, other = np.tile(one, size), np.tile(other, size)
    else:
        observer, one, other = rng.integers(size, size=(3, _MOST_TRIPLETS))
    is_usable = (observer != one) & (observer != other) & (one != other)
    observer, one, other = observer[is_usable], one[is_usable], other[is_usable]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(judge)
        difference = logs[observer, other] - logs[observer, one]
    is_clear = np.abs(difference) > margin
    is_first = difference[is_clear] > 0.0
    observer, one, other = observer[is_clear], one[is_clear], other[is_clear]
    return Triplets(observer, np.where(is_first, one, other), np.where(is_first, other, one))


def _count(size: int) -> int:
    """Return the number of triplets of an observer and two other hosts."""
    return size * (size - 1) * (size - 2) // 2
