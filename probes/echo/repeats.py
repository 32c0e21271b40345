"""Which disturbed meetings are held again, and when that is enough. Pure."""

from __future__ import annotations

from probes.echo.disturbance import DISTURBED

# A pair is measured no more often than that again.
_MOST_TIMES = 2
# All repetitions together are at most this share of the run's meetings, or so many.
_MOST_SHARE = 0.25
_ALWAYS_ALLOWED = 8


class Repeats:
    """Keeps how much each meeting was disturbed, the least disturbed time of each pair.

    Args:
        meetings: how many the run has.
    """

    def __init__(self, meetings: int) -> None:
        self._left = max(_ALWAYS_ALLOWED, int(meetings * _MOST_SHARE))
        self._batches_left = _MOST_TIMES
        self._disturbance: dict[tuple[int, int], float] = {}
        self._repeated: list[tuple[int, int]] = []

    def is_better(self, pair: tuple[int, int], disturbance: float | None) -> bool:
        """Take note of a meeting; whether its readings are better than those before, if any."""
        before = self._disturbance.get(pair)
        if before is not None and (disturbance is None or disturbance >= before):
            return False
        if disturbance is not None:
            self._disturbance[pair] = disturbance
        return True

    def next(self) -> list[tuple[int, int]]:
        """The pairs to meet again now, the most disturbed first; none when that is enough.

        Where hardly any of the last ones was better for it, the hosts are simply busy.
        """
        still = [pair for pair in self._repeated if self._disturbance[pair] >= DISTURBED]
        if self._batches_left == 0 or (still and len(still) > 0.75 * len(self._repeated)):
            return []
        disturbed = [pair for pair, share in self._disturbance.items() if share >= DISTURBED]
        disturbed.sort(key=lambda pair: -self._disturbance[pair])
        self._batches_left -= 1
        self._repeated = disturbed[: self._left]
        self._left -= len(self._repeated)
        return self._repeated
