"""Detection of hosts that no other host can reach. Pure."""

from __future__ import annotations

from collections import Counter


class Suspicion:
    """Record of which pairs of hosts could reach each other.

    A host that was silent `limit` times since its last reading is suspected, and once more after
    three times as many. Others go on trying it, but wait less each time: giving it up for everybody
    would also give up the hosts of a group that only cannot reach another group.
    """

    def __init__(self, limit: int = 2) -> None:
        self._limit = limit
        self._silences: Counter[int] = Counter()
        self._heard: set[int] = set()

    def reading(self, source: int, destination: int) -> None:
        """Record that the two hosts can reach each other."""
        for host in (source, destination):
            self._heard.add(host)
            self._silences[host] = 0

    def silence(self, source: int, destination: int) -> list[int]:
        """Record that the two hosts could not reach each other; return newly suspected ones."""
        self._silences.update((source, destination))
        limits = (self._limit, 3 * self._limit)
        return [host for host in (source, destination) if self._silences[host] in limits]

    def silent_to_all(self) -> list[int]:
        """Return the hosts that no other host could reach, if others could be reached."""
        never_heard = sorted(set(self._silences) - self._heard)
        return never_heard if self._heard else []
