"""How far each host of a run is, told by what has been measured so far. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from probes.samples import Rounds, Wanted


class RoundsBegun:
    """A round begins for a host when nothing of its earlier rounds is open any more.

    Args:
        wanted: the directed pairs to measure.
        rounds: who meets whom in which round.
    """

    def __init__(self, wanted: Wanted, rounds: Rounds) -> None:
        self._number = {pair: number for number, pairs in enumerate(rounds) for pair in pairs}
        # Host to its rounds, each with the number of directions that are open.
        self._open: dict[int, dict[int, int]] = {}
        self._pending = set(wanted)
        for source, destination in wanted:
            for host in (source, destination):
                rounds_of = self._open.setdefault(host, {})
                number = self._number_of(source, destination)
                rounds_of[number] = rounds_of.get(number, 0) + 1

    def hosts(self) -> Iterable[int]:
        """The hosts that take part."""
        return self._open

    def begun(self, host: int) -> int:
        """The round that the host is in; one more than its last when it is done."""
        rounds_of = self._open[host]
        return min(rounds_of, default=1 + max(self._number.values()))

    def settle(self, source: int, destination: int) -> None:
        """A directed pair was read or given up."""
        if (source, destination) not in self._pending:
            return
        self._pending.remove((source, destination))
        number = self._number_of(source, destination)
        for host in (source, destination):
            self._open[host][number] -= 1
            if self._open[host][number] == 0:
                del self._open[host][number]

    def _number_of(self, source: int, destination: int) -> int:
        return self._number[min(source, destination), max(source, destination)]
