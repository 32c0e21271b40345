"""Choice of the next routes to trace. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from plink.probes.samples import Rounds, Wanted

Direction = tuple[int, int]


class PairTurns:
    """Directed pairs in the order of the rounds, one at a time from every source.

    Unlike round-trip times, routes are not disturbed by other probes: a host may be the destination
    of one trace while it is busy with its own, and a source that is slow holds up nobody. Nor is
    it waited for: a source takes part from when it is admitted.

    Args:
        wanted: the directed pairs to trace, of those in `rounds`.
        rounds: in which order.
        most: how many may be traced at once.
    """

    def __init__(self, wanted: Wanted, rounds: Rounds, most: int) -> None:
        self._waiting: dict[int, deque[int]] = {}
        for pairs in rounds:
            for i, j in pairs:
                for source, destination in ((i, j), (j, i)):
                    if (source, destination) in wanted:
                        self._waiting.setdefault(source, deque()).append(destination)
        self._free: deque[int] = deque()
        self._most = most
        self.running: set[Direction] = set()

    def admit(self, source: int) -> None:
        """Record that a source is ready to trace."""
        if source in self._waiting:
            self._free.append(source)

    def next(self) -> list[Direction]:
        """Return the directed pairs to trace next."""
        begun = []
        while self._free and len(self.running) < self._most:
            source = self._free.popleft()
            if self._waiting[source]:
                begun.append((source, self._waiting[source].popleft()))
                self.running.add(begun[-1])
        return begun

    def over(self, source: int, destination: int) -> bool:
        """Record that a directed pair is settled; return False if it was not running."""
        if (source, destination) not in self.running:
            return False
        self.running.remove((source, destination))
        self._free.append(source)
        return True

    def lose(self, source: int) -> Iterable[Direction]:
        """Drop the remaining pairs of a source and return them."""
        lost = [pair for pair in self.running if pair[0] == source]
        lost += [(source, destination) for destination in self._waiting.pop(source, ())]
        self.running.difference_update(lost)
        self._free = deque(other for other in self._free if other != source)
        return lost
