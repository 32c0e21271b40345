"""Collectives that only measure: where those of a training do not tell startup from rate."""

from __future__ import annotations

MOST_S = 1.0
"""All of them together take no longer, but for what is slower than the one before promised."""

# Four kilobytes to sixteen megabytes: the smallest is all startup, the largest all rate.
SIZES_BYTES = tuple(1 << shift for shift in (12, 15, 18, 21, 24))
REPEATS = 2
# One alone, then two at once.
IN_ROUND = 3


def goes_on(elapsed_s: float, round_s: float, next_round: int) -> bool:
    """Return whether a further round fits into the time; all ranks have to say the same.

    Args:
        elapsed_s: since the first, of the slowest rank.
        round_s: what the last round took.
        next_round: which one comes.
    """
    if next_round >= len(SIZES_BYTES):
        return False
    # It takes no more than in proportion to its bytes.
    growth = SIZES_BYTES[next_round] / SIZES_BYTES[next_round - 1]
    return elapsed_s + growth * round_s <= MOST_S


class Budget:
    """How often is probed: once where a network is not known, and again where it becomes another.

    Args:
        most: times in a row, as long as windows are few.
        windows: after which one more is granted.
    """

    def __init__(self, most: int = 3, windows: int = 100) -> None:
        self._most, self._windows = most, windows
        self._left, self._passed = most, 0
        self._plan: int | None = None

    @property
    def is_spent(self) -> bool:
        """Whether what is known now has to do."""
        return not self._left

    def grants(self, wanted: bool, plan: int) -> bool:
        """Return whether to probe after this window.

        Args:
            wanted: the network is not known well enough.
            plan: of aggregation, its number: another one has a budget of its own.
        """
        if plan != self._plan:
            self._plan, self._left, self._passed = plan, self._most, 0
        self._passed += 1
        if self._passed >= self._windows:
            self._left, self._passed = min(self._most, self._left + 1), 0
        if not wanted or not self._left:
            return False
        self._left -= 1
        return True
