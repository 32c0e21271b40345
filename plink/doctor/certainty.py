"""Probability that a deviation is not due to noise.

Deviations are counted in robust standard deviations, whose tails are taken to be those of Student's
distribution with three degrees of freedom: readings of networks have outliers that a normal
distribution rules out. The chance is multiplied by the number of readings that were looked at
(Bonferroni), so that a cluster of many hosts is no more likely to be called ill.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# The standard deviation of a normal distribution by its median absolute deviation.
_PER_MAD = 1.4826


def probability(deviations: float, looked_at: int) -> float:
    """Return the probability that the largest of `looked_at` deviations is not chance.

    Args:
        deviations: in standard deviations.
        looked_at: readings, of which this is the one that deviates most.
    """
    # The upper tail of Student's t with 3 degrees of freedom (Student 1908).
    return 1.0 - min(1.0, max(1, looked_at) * float(stdtr(3, -deviations)))


def spread(values: Floats, least: float) -> float:
    """Return a robust standard deviation, 1.48 times the median absolute one, at least `least`."""
    known = values[np.isfinite(values)]
    if known.size < 2:
        return least
    return max(least, _PER_MAD * float(np.median(np.abs(known - np.median(known)))))
