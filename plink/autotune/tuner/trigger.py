"""Noticing a sudden change of the iteration time, in either direction.

The baseline is frozen: it is the median of the windows in which it was learned, and does not follow
what comes later, so that a slow drift adds up until it counts as a change. Median and median
absolute deviation (MAD) bear with half of the readings being out of line (Hampel 1974).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.autotune.tuner.interface import TunerOptions

# The standard deviation of a normal distribution as a multiple of its MAD.
_DEVIATIONS_PER_MAD = 1.4826


@dataclass(frozen=True)
class Baseline:
    """Iteration times while nothing changed.

    Args:
        median_s: of the windows' medians.
        deviation: their standard deviation, as a share of the median.
    """

    median_s: float
    deviation: float


def learn(medians_s: Sequence[float]) -> Baseline:
    """Return the baseline of these windows.

    Raises:
        ValueError: there are no windows.
    """
    if not medians_s:
        raise ValueError("no windows to learn from")
    values = np.asarray(medians_s, dtype=np.float64)
    median_s = float(np.median(values))
    mad_s = float(np.median(np.abs(values - median_s)))
    return Baseline(median_s, _DEVIATIONS_PER_MAD * mad_s / median_s)


def median_deviation(count: int) -> float:
    """Return the standard deviation of the median of some values, as a share of one value's.

    For a normal distribution, sqrt(pi / (2 n + pi - 2)): exact for one value and for many, 1 % less
    than the deviation for three.
    """
    return math.sqrt(math.pi / (2 * count + math.pi - 2.0))


def change(baseline: Baseline, median_s: float) -> float:
    """Return how much longer (positive) or shorter than the baseline, as a share of it."""
    return median_s / baseline.median_s - 1.0


def is_sudden(baseline: Baseline, medians_s: Sequence[float], options: TunerOptions) -> bool:
    """Return whether the last windows all say that iterations have become slower, or all faster.

    Args:
        baseline: what they are compared with.
        medians_s: of the windows since, the latest at the end.
        options: how much, beyond which noise, and how often in a row.
    """
    latest = medians_s[-options.confirming_windows :]
    if len(latest) < options.confirming_windows:
        return False
    least = max(options.sudden_change, options.noise_multiple * baseline.deviation)
    changes = [change(baseline, median_s) for median_s in latest]
    # A speed that is 20 % higher is an iteration that is 1 - 1/1.2 shorter.
    faster = 1.0 / (1.0 + least) - 1.0
    return all(each > least for each in changes) or all(each < faster for each in changes)
