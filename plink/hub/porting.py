"""Compute each port's share of the chunks from the traffic that ports were seen to carry.

A port's *cost* is how long it would take there if it alone carried all: the time in which it was
seen carrying something, over its share of the bytes; of both directions the greater one. In an
iteration all ports begin together, so a port that is slower than its share goes on when others are
done. Shares follow costs as those of the engine's interfaces do (`plink.engine.shares`): they
change where the change is worth something in several windows, one after the other, and not by
noise. No sockets, no clocks: a server looks, and says what it saw when.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.engine.shares import Shares

Floats = npt.NDArray[np.float64]

# A window in which a port was busy for less says little; looks are some hundredths apart.
_LEAST_BUSY_S = 0.3


class Porting:
    """Weights of one server's ports, which follow the traffic that the ports carry.

    Args:
        weights: that it began with, one a port.
        window_s: of how long each judgement is.
    """

    def __init__(self, weights: Sequence[float], window_s: float) -> None:
        self._told = list(weights)
        self._window_s = window_s
        self._shares = Shares(len(weights))
        self._began_s = 0.0
        self._last: tuple[float, npt.NDArray[np.int64]] | None = None
        self._forget(0.0)

    @property
    def weights(self) -> list[float]:
        """Current weights of the ports; their sum is that of the initial ones."""
        if self._shares.are_equal:
            return self._told
        total = sum(self._told)
        return [share * total for share in self._shares.weights]

    def look(self, now_s: float, carried_bytes: Sequence[tuple[int, int]]) -> bool:
        """Record the bytes that ports have carried; update the weights at the end of a window.

        Args:
            now_s: of any clock that goes on evenly.
            carried_bytes: in and out so far, by port; less than before where a service has ended.

        Returns:
            Whether weights have changed.
        """
        now = np.array(carried_bytes, np.int64)
        last, self._last = self._last, (now_s, now)
        if last is None or np.any(now < last[1]):
            self._forget(now_s)
            return False
        grown = now - last[1]
        self._busy_s += np.where(grown > 0, now_s - last[0], 0.0)
        self._bytes += grown
        if now_s - self._began_s < self._window_s:
            return False
        found = costs(self._busy_s, self._bytes)
        self._forget(now_s)
        return bool(found.any()) and self._shares.follow(found.tolist())

    def _forget(self, now_s: float) -> None:
        ports = len(self._told)
        self._began_s = now_s
        self._busy_s: Floats = np.zeros((ports, 2))
        self._bytes: Floats = np.zeros((ports, 2))


def costs(busy_s: Floats, carried_bytes: Floats) -> Floats:
    """Return (K,) seconds each port would take for all bytes; zeros if too little was seen.

    Args:
        busy_s: (K, 2) in which something came in, and went out.
        carried_bytes: (K, 2).
    """
    ports = len(busy_s)
    if busy_s.max(initial=0.0) < _LEAST_BUSY_S or not np.all(carried_bytes > 0.0):
        return np.zeros(ports)
    found: Floats = np.max(busy_s * carried_bytes.sum(axis=0) / carried_bytes, axis=1)
    return found
