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


@dataclass(frozen=True)
class Spread:
    """Median, shortest and longest of some times in seconds."""

    median_s: float
    min_s: float
    max_s: float


def slowest_rank(seconds_by_rank: Sequence[Sequence[float]]) -> list[float]:
    """Per repetition the longest time of any rank; the input is [rank][repetition], in seconds."""
    return [max(times) for times in zip(*seconds_by_rank, strict=True)]


def spread(samples_s: Sequence[float]) -> Spread:
    """Median, shortest and longest of at least one sample in seconds."""
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


def _mean_ranks(values: Sequence[float]) -> npt.NDArray[np.float64]:
    _, group, counts = np.unique(
        np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True
    )
    ends = np.cumsum(counts, dtype=np.float64)
    means = ends - (counts - 1) / 2.0
    return np.asarray(means[group], dtype=np.float64)
