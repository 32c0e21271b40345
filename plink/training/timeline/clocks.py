"""How far the clocks of ranks are apart, from what cannot be otherwise.

No rank knows that all are ready for a collective before the last of them has announced it. So for
clocks d and e that are ahead of the true time by o_d and o_e, and every collective, o_d - o_e is at
most when it was agreed on by d, less when it was announced by e. Both ways that bounds it from both
sides, as in Cristian, "Probabilistic clock synchronization" (1989): the middle is taken, and half
of the width is how wrong that can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# By so much at most files round two times together.
_ROUNDED_US = 0.2

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clocks:
    """Clocks of the ranks, and how far they are ahead of each other.

    Args:
        clock_of: (R,) which clock, by number.
        ahead_us: (R,) of the clock of the first.
        error_us: (R,) by how much that can be wrong; NaN where only the clocks of the machines say.
        drifted_us: by how much what they say contradicts itself at worst, since clocks run at
            different speeds; 0 where it does not.
    """

    clock_of: npt.NDArray[np.intp]
    ahead_us: Floats
    error_us: Floats
    drifted_us: float = 0.0


def aligned_clocks(names: Sequence[str], error_us: Floats) -> Clocks:
    """Return the clocks of ranks whose times were aligned before.

    Args:
        names: (R,) of their clocks.
        error_us: (R,) by how much these can be wrong; NaN where that is not known.
    """
    return Clocks(_number_names(names), np.zeros(len(names)), error_us)


def clocks_of(
    names: Sequence[str], announced_us: Floats, agreed_us: Floats, wall_ahead_us: Floats
) -> Clocks:
    """Return how far the clocks of ranks are apart.

    Args:
        names: (R,) of clocks; ranks with the same one share it.
        announced_us: (C, R) of collectives, by the rank's clock; NaN where unknown.
        agreed_us: (C, R) the same.
        wall_ahead_us: (R,) what the time since 1970 is ahead of each clock, as machines have it.
    """
    of_rank = _number_names(names)
    count = int(of_rank.max()) + 1
    if count == 1:
        return Clocks(of_rank, np.zeros(len(names)), np.zeros(len(names)))
    last_us = np.full((len(announced_us), count), -np.inf)
    first_us = np.full((len(announced_us), count), np.inf)
    for clock in range(count):
        of_clock = of_rank == clock
        announced = np.nan_to_num(announced_us[:, of_clock], nan=-np.inf)
        agreed = np.nan_to_num(agreed_us[:, of_clock], nan=np.inf)
        last_us[:, clock] = announced.max(axis=1)
        first_us[:, clock] = agreed.min(axis=1)
    # most_us[d, e]: at most so far is d ahead of e.
    most_us = np.full((count, count), np.inf)
    if len(announced_us):
        for clock in range(count):
            most_us[clock] = (first_us[:, [clock]] - last_us).min(axis=0)
    np.fill_diagonal(most_us, 0.0)
    for by_way_of in range(count):
        np.minimum(most_us, most_us[:, [by_way_of]] + most_us[[by_way_of]], out=most_us)
    high_us, low_us = most_us[:, 0], -most_us[0]
    is_known = np.isfinite(high_us) & np.isfinite(low_us)
    high_us, low_us = np.where(is_known, high_us, 0.0), np.where(is_known, low_us, 0.0)
    width_us = high_us - low_us
    walls_us = np.array([wall_ahead_us[of_rank == clock][0] for clock in range(count)])
    ahead_us = np.where(is_known, (high_us + low_us) / 2.0, walls_us[0] - walls_us)
    error_us = np.where(is_known, np.abs(width_us) / 2.0 + _ROUNDED_US, np.nan)
    drifted_us = float(max(0.0, -width_us.min() - _ROUNDED_US))
    ahead_us[0] = error_us[0] = 0.0
    return Clocks(of_rank, ahead_us[of_rank], error_us[of_rank], drifted_us)


def _number_names(names: Sequence[str]) -> npt.NDArray[np.intp]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)
