"""Letting pairs meet a few at a time, where hosts share a machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Grant:
    """Leave for a meeting. `slot` is its place among those that run at once, from 0."""

    leader: int
    follower: int
    round: int
    slot: int


class Grants:
    """Decides which meeting may start next.

    Args:
        meetings: (round, leader, follower) in the order in which they should start.
        most: how many may run at once.
    """

    def __init__(self, meetings: Iterable[tuple[int, int, int]], most: int) -> None:
        self._waiting = list(meetings)
        self._free_slots = list(range(most))
        self._running: dict[tuple[int, int], Grant] = {}

    def next(self) -> list[Grant]:
        """The meetings to start now; they count as running from here on."""
        busy = {end for grant in self._running.values() for end in (grant.leader, grant.follower)}
        granted = []
        waiting = iter(list(self._waiting))
        while self._free_slots and (meeting := next(waiting, None)) is not None:
            number, leader, follower = meeting
            if leader in busy or follower in busy:
                continue
            busy |= {leader, follower}
            self._waiting.remove(meeting)
            grant = Grant(leader, follower, number, self._free_slots.pop(0))
            self._running[leader, number] = grant
            granted.append(grant)
        return granted

    def over(self, leader: int, number: int) -> None:
        """The leader is done with this meeting."""
        grant = self._running.pop((leader, number), None)
        if grant is not None:
            self._free_slots = sorted([*self._free_slots, grant.slot])

    def host_lost(self, host: int) -> None:
        """Forget the meetings of a host that is gone."""
        self._waiting = [meeting for meeting in self._waiting if host not in meeting[1:]]
        for leader, number in list(self._running):
            if host in (leader, self._running[leader, number].follower):
                self.over(leader, number)
