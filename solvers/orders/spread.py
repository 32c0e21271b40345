"""How far apart distances are: the unit of an annealing's temperatures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def spread(distance: npt.NDArray[np.float64]) -> float:
    """Half of what lies between the 10th and the 90th percentile of (N, N) distances.

    For normally distributed ones it is 1.28 standard deviations; outliers do not move it. Where so
    many are equal that it would be 0, half of the whole range; where all are, 1.
    """
    values = distance[np.triu_indices(len(distance), 1)]
    low, high = np.percentile(values, [10.0, 90.0])
    if high <= low:
        low, high = values.min(), values.max()
    return float(high - low) / 2.0 if high > low else 1.0
