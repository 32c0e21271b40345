"""The numbers of a bench, from its samples. No input or output here.

The time of one repetition of an allreduce is the longest time of any rank, measured on each
rank's own clock from the end of a barrier to the return of its allreduce. An order's time is the
median over its repetitions of all rounds; its spread is the shortest and the longest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_RESAMPLES = 2000
_CONFIDENCE = 0.95

# Medians of a few repetitions are hardly better than that.
_ALIKE = 0.01


@dataclass(frozen=True)
class Spread:
    """Median, shortest and longest of some times in seconds."""

    median_s: float
    min_s: float
    max_s: float


def slowest_rank(seconds_by_rank: Sequence[Sequence[float]]) -> list[float]:
    """Per repetition the longest time of any rank; the input is [rank][repetition], in seconds."""
    return [max(times) for times in zip(*seconds_by_rank, strict=True)]


def mean_rank(seconds_by_rank: Sequence[Sequence[float]]) -> list[float]:
    """Per repetition the mean over ranks; the input is [rank][repetition], in seconds."""
    return [sum(times) / len(times) for times in zip(*seconds_by_rank, strict=True)]


def spread(samples_s: Sequence[float]) -> Spread:
    """Return median, shortest and longest of at least one sample in seconds."""
    return Spread(float(np.median(samples_s)), min(samples_s), max(samples_s))


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation of two series of equal length, ties given their mean rank.

    None where it is not defined: fewer than three pairs, or a series without variation.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}")
    if len(first) < 3:
        return None
    first_ranks, second_ranks = _mean_ranks(first), _mean_ranks(second)
    first_ranks -= first_ranks.mean()
    second_ranks -= second_ranks.mean()
    norm = float(np.sqrt((first_ranks @ first_ranks) * (second_ranks @ second_ranks)))
    if norm == 0.0:
        return None
    return float(np.clip((first_ranks @ second_ranks) / norm, -1.0, 1.0))


def made_alike(values: Sequence[float]) -> list[float]:
    """Return values of 0 or more, those made equal that differ by less than a measurement can tell.

    From the least up, each stands for all that are at most 1 % above it.
    """
    alike: dict[float, float] = {}
    least = -1.0
    for value in sorted(set(values)):
        if least < 0.0 or value > least * (1.0 + _ALIKE):
            least = value
        alike[value] = least
    return [alike[value] for value in values]


def spearman_interval(
    first: Sequence[float], second: Sequence[float], seed: int
) -> tuple[float, float] | None:
    """The 95 % confidence interval of Spearman's rank correlation, by the percentile bootstrap.

    Pairs are drawn with replacement 2,000 times (Efron 1979); draws without variation are left out.

    Returns:
        its ends; None where the correlation is not defined, or hardly any draw has one.
    """
    if spearman(first, second) is None:
        return None
    generator = np.random.default_rng(seed)
    pairs = np.column_stack([first, second])
    drawn = [
        spearman(resample[:, 0].tolist(), resample[:, 1].tolist())
        for resample in (
            pairs[generator.integers(len(pairs), size=len(pairs))] for _ in range(_RESAMPLES)
        )
    ]
    defined = [value for value in drawn if value is not None]
    if len(defined) < _RESAMPLES // 2:
        return None
    tail = (1.0 - _CONFIDENCE) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return float(low), float(high)


def _mean_ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    _, group, counts = np.unique(
        np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True
    )
    ends = np.cumsum(counts, dtype=np.float64)
    means = ends - (counts - 1) / 2.0
    return np.asarray(means[group], dtype=np.float64)
