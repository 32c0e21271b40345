"""What an iteration is, where the program does not say: a period of its collectives' sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# A period has to be seen so often.
LEAST_PERIODS = 3
# Looking farther back would cost more than it tells.
_MOST_SIZES = 2048
# Programs reduce other things now and then: so much of what is compared has to agree.
_LEAST_AGREEMENT = 0.5


def period_of(sizes: Sequence[int]) -> int | None:
    """After how many collectives sizes come again; None if they do not.

    The distance at which most sizes agree, the least of such distances.

    Args:
        sizes: of collectives, in order.
    """
    tail = np.asarray(sizes[-_MOST_SIZES:], dtype=np.int64)
    best, period = 0.0, None
    for distance in range(1, len(tail) // LEAST_PERIODS + 1):
        agreement = float((tail[distance:] == tail[:-distance]).mean())
        if agreement > best:
            best, period = agreement, distance
            if agreement == 1.0:
                break
    return period if best >= _LEAST_AGREEMENT else None


def iteration_seconds(
    times_s: Sequence[float], marks_s: Sequence[float], period: int | None
) -> npt.NDArray[np.float64]:
    """(K,) what each iteration took: between marks if there are two, else between periods.

    Args:
        times_s: when each collective was begun.
        marks_s: when the program said that an iteration ends.
        period: of collectives; None if none was found.
    """
    if len(marks_s) > 1:
        return np.diff(np.asarray(marks_s, dtype=np.float64))
    if period is None:
        return np.empty(0)
    return np.diff(np.asarray(times_s[::-period], dtype=np.float64)[::-1])
