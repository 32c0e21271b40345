"""When what has waited long is to be told."""

from __future__ import annotations

import heapq
import math


class Alarms:
    """Alarms for waiting names: after each `warning_s`, and from `error_s` on after each of those.

    An alarm about which the root does nothing, as others seem to have announced the name, is thus
    given again before long.
    """

    def __init__(self, warning_s: float, error_s: float | None) -> None:
        self._warning_s = warning_s
        self._error_s = error_s
        self._since_s: dict[str, float] = {}
        self._due: list[tuple[float, float, str]] = []

    @property
    def next_s(self) -> float:
        """Return when the next alarm is due; infinity for never."""
        while self._due and self._since_s.get(self._due[0][2]) != self._due[0][1]:
            heapq.heappop(self._due)
        return self._due[0][0] if self._due else math.inf

    def first_s(self, since_s: float) -> float:
        """Return the first alarm's time for something that waits since then."""
        return self._next_s(since_s, since_s) if since_s < math.inf else math.inf

    def since_s(self, name: str) -> float | None:
        """Return since when a name waits; None if it does not."""
        return self._since_s.get(name)

    def add(self, name: str, since_s: float, now_s: float | None = None) -> None:
        """Add a name that waits since then; a warning due before `now_s` is not given."""
        self._since_s[name] = since_s
        warned = 0 if now_s is None else math.floor((now_s - since_s) / self._warning_s + 1e-6)
        self._plan(name, since_s, since_s + warned * self._warning_s)

    def remove(self, name: str) -> None:
        """Remove a name."""
        del self._since_s[name]
        if not self._since_s:
            self._due.clear()

    def clear(self) -> None:
        """Remove all names."""
        self._since_s.clear()
        self._due.clear()

    def due(self, now_s: float) -> list[str]:
        """Return the names whose alarm is due, once for each alarm."""
        names: list[str] = []
        while self.next_s <= now_s:
            at_s, since_s, name = heapq.heappop(self._due)
            names.append(name)
            self._plan(name, since_s, at_s)
        return list(dict.fromkeys(names))

    def _plan(self, name: str, since_s: float, after_s: float) -> None:
        heapq.heappush(self._due, (self._next_s(since_s, after_s), since_s, name))

    def _next_s(self, since_s: float, after_s: float) -> float:
        times = math.floor((after_s - since_s) / self._warning_s + 0.5) + 1
        next_s = since_s + times * self._warning_s
        if self._error_s is None:
            return next_s
        is_late = after_s >= since_s + self._error_s
        return min(next_s, (after_s if is_late else since_s) + self._error_s)
