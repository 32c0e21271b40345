"""At which collective a plan starts, agreed by the ranks alone.

After so many bytes or collectives there is a *point*, at the same collective on every rank. There
each rank votes, by a tiny all-reduce by minimum for which nobody waits: the encoded identity of the
newest plan that it holds, the same number negated, and whether its window of measurements is long
enough. At the next point the result is read, the same on every rank: where minimum and maximum
are one number, every rank holds that plan, and all install it at the same collective.

A daemon that fails midway, or two that number alike, do no harm: without agreement there is no
change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError

Vote = npt.NDArray[np.int64]

DEFAULT_BYTES = 256_000_000
DEFAULT_COLLECTIVES = 256


@dataclass(frozen=True)
class Stride:
    """How far it is from one point to the next, whichever is reached first; the same on every rank.

    Args:
        size_bytes: reduced since the last point.
        collectives: begun since the last point.
    """

    size_bytes: int = DEFAULT_BYTES
    collectives: int = DEFAULT_COLLECTIVES

    def __post_init__(self) -> None:
        if self.size_bytes < 1 or self.collectives < 1:
            raise WrongUseError(
                "the stride from point to point is at least one byte and one collective"
            )


class Points:
    """Where the points are.

    Args:
        stride: between them.
    """

    def __init__(self, stride: Stride) -> None:
        self._stride = stride
        self._size_bytes = 0
        self._collectives = 0

    def is_next(self, size_bytes: int) -> bool:
        """Whether a point would come after a collective of that size."""
        return (
            self._size_bytes + size_bytes >= self._stride.size_bytes
            or self._collectives + 1 >= self._stride.collectives
        )

    def count(self, size_bytes: int) -> bool:
        """Count a collective; whether a point comes after it."""
        if self.is_next(size_bytes):
            self._size_bytes = self._collectives = 0
            return True
        self._size_bytes += size_bytes
        self._collectives += 1
        return False


@dataclass(frozen=True)
class Outcome:
    """What all ranks know after a vote.

    Args:
        plan_id: the encoded identity of the plan that every rank held; None where they held
            different ones.
        is_window_over: every rank's window was long enough.
    """

    plan_id: int | None
    is_window_over: bool


def vote_of(plan_id: int, is_window_long_enough: bool) -> Vote:
    """(3,) what a rank gives to the all-reduce by minimum; `plan_id` is `Identity.encoded`."""
    return np.array([plan_id, -plan_id, int(is_window_long_enough)], dtype=np.int64)


def outcome(reduced: Vote) -> Outcome:
    """What the all-reduce says."""
    least, negated_most, is_over = reduced.tolist()
    return Outcome(least if least == -negated_most else None, bool(is_over))
