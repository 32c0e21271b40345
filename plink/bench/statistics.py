"""Statistics of a bench, computed from its samples without input or output.

The time of one repetition of an allreduce is the longest time of any rank, measured on each
rank's own clock from the end of a barrier to the return of its allreduce. An order's time is the
median over its repetitions of all rounds; its spread is the shortest and the longest of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.lazy import lazy_imports

with lazy_imports():
    from scipy import stats

_RESAMPLES = 2000
_CONFIDENCE = 0.95

# Medians of a few repetitions are hardly better than that.
_ALIKE = 0.01


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation of two series of equal length, with mean ranks of ties.

    It is None if not defined: for fewer than three pairs, or a series without variation.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}")
    if len(first) < 3:
        return None
    found = float(_correlate_ranks(np.array(first), np.array(second)))
    return None if np.isnan(found) else found


def _correlate_ranks(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return Spearman's correlation of each row, (..., N) to (...); NaN without variation."""
    mean = (first.shape[-1] + 1) / 2
    one, other = (stats.rankdata(values, axis=-1) - mean for values in (first, second))
    size = np.sqrt((one**2).sum(axis=-1) * (other**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        found: npt.NDArray[np.float64] = (one * other).sum(axis=-1) / size
    return found.clip(-1.0, 1.0)


def made_alike(values: Sequence[float]) -> list[float]:
    """Return non-negative values with those made equal that no measurement can tell apart.

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
    """Return the 95 % confidence interval of Spearman's rank correlation, by bootstrap.

    Its ends are percentiles over 2,000 draws of pairs with replacement (Efron 1979), except draws
    without variation.

    It is None if the correlation is not defined for the pairs, or for most draws.
    """
    if spearman(first, second) is None:
        return None
    pairs = np.array([first, second], dtype=float)
    count = pairs.shape[1]
    draws = np.random.default_rng(seed).integers(count, size=(_RESAMPLES, count))
    drawn = _correlate_ranks(*pairs[:, draws])
    defined = drawn[~np.isnan(drawn)]
    if len(defined) < _RESAMPLES // 2:
        return None
    tail = (1.0 - _CONFIDENCE) / 2.0
    low, high = np.quantile(defined, [tail, 1.0 - tail])
    return float(low), float(high)
