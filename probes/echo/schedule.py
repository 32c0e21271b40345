"""Meetings of an echo run by round, and the directed pairs that still lack a reading. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from plink.probes.echo.protocol import Meeting
from plink.probes.samples import Rounds, Wanted


class Schedule:
    """Meetings by round, and the directed pairs that still lack a reading.

    Args:
        wanted: the directed pairs to measure, of those in `rounds`.
        rounds: pairs of hosts that meet in each round.

    A pair meets if either of its directions is wanted. The lower index leads.
    """

    def __init__(self, hosts: int, wanted: Wanted, rounds: Rounds) -> None:
        self.pending: set[tuple[int, int]] = set(wanted)
        self._asked: set[tuple[int, int]] = set(wanted)
        self.meetings: list[list[Meeting]] = [[] for _ in range(hosts)]
        self._partner: list[dict[int, int]] = [{} for _ in range(hosts)]
        self._rounds = len(rounds)
        for number, pairs in enumerate(rounds):
            for i, j in pairs:
                if (i, j) in wanted or (j, i) in wanted:
                    self._add(number, i, j, wanted)

    def _add(self, number: int, i: int, j: int, wanted: Wanted) -> None:
        for source, destination in ((i, j), (j, i)):
            probes = (source, destination) in wanted
            self.meetings[source].append(Meeting(number, destination, probes))
            self._partner[source][number] = destination

    def __len__(self) -> int:
        """Return the number of rounds of the schedule."""
        return self._rounds

    def add(self, number: int, one: int, other: int) -> None:
        """Add a meeting of two hosts, each of which probes the other.

        A direction that was asked for before is owed no more by this; another one is.

        Args:
            number: number of its round, in which neither of them meets anybody else.
        """
        self._partner[one][number] = other
        self._partner[other][number] = one
        for direction in ((one, other), (other, one)):
            if direction not in self._asked:
                self._asked.add(direction)
                self.pending.add(direction)

    def is_asked(self, source: int, destination: int) -> bool:
        """Return whether a directed pair is part of the run, pending or settled."""
        return (source, destination) in self._asked

    def partner(self, host: int, number: int) -> int | None:
        """Return the host that a host meets in a round, or None."""
        return self._partner[host].get(number)

    def partners_by_round(self, host: int) -> Mapping[int, int]:
        """Return the host that a host meets, by round."""
        return self._partner[host]

    def partners(self, host: int) -> set[int]:
        """Return all hosts that a host meets."""
        return set(self._partner[host].values())

    def pairs(self) -> Iterator[tuple[int, int, int]]:
        """Return every meeting once as (round, leader, follower), by round."""
        meetings = (
            (meeting.round, host, meeting.partner)
            for host, row in enumerate(self.meetings)
            for meeting in row
            if host < meeting.partner
        )
        return iter(sorted(meetings))

    def settle(self, source: int, destination: int) -> bool:
        """Mark a directed pair as read or given up; return False if it was settled before."""
        if (source, destination) not in self.pending:
            return False
        self.pending.remove((source, destination))
        return True

    def owed_with(self, host: int) -> list[tuple[int, int]]:
        """Return the pending directed pairs from and to a host."""
        ways = ((pair, pair[::-1]) for pair in ((host, other) for other in self.partners(host)))
        return sorted(pair for both in ways for pair in both if pair in self.pending)
