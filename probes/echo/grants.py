"""Letting pairs meet a few at a time, where hosts share a machine. Pure."""

from __future__ import annotations

from collections import OrderedDict
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
        in_order: whether a host that waits for a busy partner takes no other meeting meanwhile.
    """

    def __init__(
        self, meetings: Iterable[tuple[int, int, int]], most: int, *, in_order: bool = False
    ) -> None:
        # A plain dict would pass over all that was taken from its front, every time.
        self._waiting = OrderedDict.fromkeys(meetings)
        self._in_order = in_order
        self._hosts = {end for meeting in self._waiting for end in meeting[1:]}
        self._most = most
        self._free_slots = list(range(most))
        # A meeting runs until both of its ends have said that it is over.
        self._running: dict[tuple[int, int], Grant] = {}
        self._given_up: set[Grant] = set()

    def limit(self, most: int) -> None:
        """Let no more than that start while as many run, at most as many as in the beginning."""
        self._most = most

    @property
    def is_idle(self) -> bool:
        """No meeting runs, and none is waiting."""
        return not self._running and not self._waiting

    def is_running(self, host: int, number: int) -> bool:
        """Whether a host was sent to its meeting of that round, and has not ended it."""
        return (host, number) in self._running

    @property
    def busy(self) -> set[int]:
        """The hosts that have not ended their meeting."""
        return {host for host, _ in self._running}

    def next(self) -> list[Grant]:
        """The meetings to start now; they count as running from here on."""
        busy = self.busy
        granted = []
        for number, leader, follower in self._waiting:
            if not self._free_slots or self._free_slots[0] >= self._most:
                break
            if leader in busy or follower in busy:
                if self._in_order:
                    busy |= {leader, follower}
                    if busy >= self._hosts:
                        break
                continue
            busy |= {leader, follower}
            grant = Grant(leader, follower, number, self._free_slots.pop(0))
            self._running[leader, number] = self._running[follower, number] = grant
            granted.append(grant)
        for grant in granted:
            del self._waiting[grant.round, grant.leader, grant.follower]
        return granted

    def over(self, host: int, number: int) -> None:
        """One end is done with its meeting of that round."""
        grant = self._running.pop((host, number), None)
        if grant is None:
            return
        other = grant.follower if host == grant.leader else grant.leader
        if (other, number) in self._running:
            return
        if grant in self._given_up:
            self._given_up.remove(grant)
        else:
            self._free(grant)

    def given_up(self, host: int, number: int) -> None:
        """One end hears nothing of the other: what is left of the meeting disturbs no other.

        Another may start in its place, but not with its two ends, before they are over.
        """
        grant = self._running.get((host, number))
        if grant is not None and grant not in self._given_up:
            self._given_up.add(grant)
            self._free(grant)

    def _free(self, grant: Grant) -> None:
        self._free_slots = sorted([*self._free_slots, grant.slot])

    def host_lost(self, host: int) -> None:
        """Forget the meetings of a host that is gone. Its partner ends the running one itself."""
        for meeting in [waiting for waiting in self._waiting if host in waiting[1:]]:
            del self._waiting[meeting]
        for end, number in list(self._running):
            if end == host:
                self.over(end, number)
