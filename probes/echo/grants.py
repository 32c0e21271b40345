"""Letting pairs meet a few at a time, where hosts share a machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable


class Grants:
    """Decides which meeting may start next.

    Args:
        meetings: (round, leader, follower) in the order in which they should start.
        most: how many may run at once.
    """

    def __init__(self, meetings: Iterable[tuple[int, int, int]], most: int) -> None:
        self._waiting = list(meetings)
        self._most = most
        self._running: dict[tuple[int, int], int] = {}

    def next(self) -> list[tuple[int, int]]:
        """The meetings to start now, as (leader, round); they count as running from here on."""
        busy = set(self._running.values()) | {leader for leader, _ in self._running}
        granted = []
        waiting = iter(list(self._waiting))
        while len(self._running) < self._most and (meeting := next(waiting, None)) is not None:
            number, leader, follower = meeting
            if leader in busy or follower in busy:
                continue
            busy |= {leader, follower}
            self._waiting.remove(meeting)
            self._running[leader, number] = follower
            granted.append((leader, number))
        return granted

    def over(self, leader: int, number: int) -> None:
        """The leader is done with this meeting."""
        self._running.pop((leader, number), None)

    def host_lost(self, host: int) -> None:
        """Forget the meetings of a host that is gone."""
        self._waiting = [meeting for meeting in self._waiting if host not in meeting[1:]]
        for (leader, number), follower in list(self._running.items()):
            if host in (leader, follower):
                del self._running[leader, number]
