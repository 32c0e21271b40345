"""At which collective a plan starts, agreed by the ranks alone.

After so many collectives there is a *point*, at the same collective on every rank. There each rank
votes, by a tiny all-reduce by minimum for which nobody waits: the encoded identity of the newest
plan that it holds, the same number negated, whether its window of measurements is long enough, and
how many collectives it proposes from point to point. At the next point the result is read, the same
on every rank: where minimum and maximum are one number, every rank holds that plan, and all install
it at the same collective. The least proposal is the distance to the point after that, so points
follow time although ranks have no common clock.

A daemon that fails midway, or two that number alike, do no harm: without agreement there is no
change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError

Vote = npt.NDArray[np.int64]

MOST_BYTES = 1 << 62
MOST_COLLECTIVES = 1 << 14


@dataclass(frozen=True)
class Stride:
    """How far it is from one point to the next, whichever is reached first; the same on every rank.

    Args:
        size_bytes: reduced since the last point.
        collectives: begun since the last point.
    """

    size_bytes: int = MOST_BYTES
    collectives: int = 1

    def __post_init__(self) -> None:
        if self.size_bytes < 1 or self.collectives < 1:
            raise WrongUseError(
                "the stride from point to point is at least one byte and one collective"
            )


class Points:
    """Points among the collectives at which ranks may change plans.

    Args:
        stride: between them.
    """

    def __init__(self, stride: Stride) -> None:
        self.stride = stride
        self._size_bytes = 0
        self._collectives = 0

    def is_next(self, size_bytes: int) -> bool:
        """Return whether a point would come after a collective of that size."""
        return (
            self._size_bytes + size_bytes >= self.stride.size_bytes
            or self._collectives + 1 >= self.stride.collectives
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
    """Outcome of a vote, which all ranks know.

    Args:
        plan_id: the encoded identity of the plan that every rank held; None where they held
            different ones.
        is_window_over: every rank's window was long enough.
        collectives: from this point to the next.
    """

    plan_id: int | None
    is_window_over: bool
    collectives: int


def vote_of(plan_id: int, is_window_long_enough: bool, collectives: int) -> Vote:
    """Return a rank's contribution (4,) to the all-reduce by minimum.

    Args:
        plan_id: `Identity.encoded` of the newest plan that the rank holds.
        is_window_long_enough: the rank's window of measurements may end at the next point.
        collectives: what `propose_stride` says.
    """
    return np.array([plan_id, -plan_id, int(is_window_long_enough), collectives], dtype=np.int64)


def outcome(reduced: Vote) -> Outcome:
    """Return what the all-reduce by minimum says."""
    least, negated_most, is_over, collectives = reduced.tolist()
    plan_id = least if least == -negated_most else None
    return Outcome(plan_id, bool(is_over), max(1, collectives))


def propose_stride(begun: int, seconds: float, point_s: float, iteration: int | None) -> int:
    """Return the number of collectives from one point to the next that takes about `point_s`.

    At most twice as many as from the last point to this one, as collectives begin in bursts. Whole
    iterations where their length is known: a vote then has an iteration's time to end, and windows
    end where iterations do.

    Args:
        begun: collectives from the last point to this one.
        seconds: what they took.
        point_s: seconds from point to point that are aimed at.
        iteration: collectives of an iteration; None while nothing tells.
    """
    most = 2.0 * begun
    wanted = min(most, begun * point_s / seconds) if seconds > 0.0 else most
    least = iteration or 1
    return min(MOST_COLLECTIVES, least * max(1, round(wanted / least)))
