"""Schedule of an echo run: which pairs of agents measure each other, in which round and when.

Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plink.probes.echo.protocol import Meeting
from plink.probes.facts import HostFacts
from plink.probes.samples import Rounds, Wanted


class Schedule:
    """Schedule of an echo run: each host's partner by round, and the directed pairs still pending.

    A pair of `rounds` meets if either of its directions is wanted. The lower index leads.
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
        """Add a round's measurement of two hosts, in which each probes the other.

        A direction that was asked for before is owed no more by this; another one is.
        """
        self._partner[one][number] = other
        self._partner[other][number] = one
        for direction in ((one, other), (other, one)):
            if direction not in self._asked:
                self._asked.add(direction)
                self.pending.add(direction)

    def is_asked(self, source: int, destination: int) -> bool:
        """Return whether a directed pair was to be measured in this run, be it done or not."""
        return (source, destination) in self._asked

    def partner(self, host: int, number: int) -> int | None:
        """Return the host with which a host is paired in a round; None if it pauses."""
        return self._partner[host].get(number)

    def partners_by_round(self, host: int) -> Mapping[int, int]:
        """Return a host's partner in each round of the run in which it has one, by round number."""
        return self._partner[host]

    def pairs(self) -> Iterator[tuple[int, int, int]]:
        """Return the pairs scheduled at first as (round, leader, follower), sorted by round."""
        meetings = (
            (meeting.round, host, meeting.partner)
            for host, row in enumerate(self.meetings)
            for meeting in row
            if host < meeting.partner
        )
        return iter(sorted(meetings))

    def settle(self, source: int, destination: int) -> bool:
        """Mark a directed pair as measured or given up; return False if it was not pending."""
        is_pending = (source, destination) in self.pending
        self.pending.discard((source, destination))
        return is_pending

    def owed_with(self, host: int) -> list[tuple[int, int]]:
        """Return the directed pairs from or to a host that are still pending."""
        return sorted(
            pair
            for other in set(self._partner[host].values())
            for pair in ((host, other), (other, host))
            if pair in self.pending
        )


# So many meetings, or twice those in flight, tell how it goes.
_FEWEST = 8
# Where more of them are disturbed than that, fewer pairs may meet at once.
_TOO_MANY = 0.5
# It is the pairs themselves if half of them at once brings the share below so much of what it was.
_RELIEF = 0.5


@dataclass(frozen=True)
class Grant:
    """Permission for two agents to measure each other now; `slot` numbers concurrent pairs."""

    leader: int
    follower: int
    round: int
    slot: int


class Grants:
    """Queue of pairs of agents to measure: it decides which may start, and when.

    Args:
        meetings: (round, leader, follower) in the order in which they should start.
        most: number of meetings that may run at once.
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
        """Limit the number of pairs measured at once to `most`, no more than the initial number."""
        self._most = most

    @property
    def is_idle(self) -> bool:
        """Whether no pair is being measured, and none waits."""
        return not self._running and not self._waiting

    def is_running(self, host: int, number: int) -> bool:
        """Return whether a host is measuring in this round: started and not yet ended."""
        return (host, number) in self._running

    @property
    def busy(self) -> set[int]:
        """Hosts that are being measured now."""
        return {host for host, _ in self._running}

    def next(self) -> list[Grant]:
        """Return the pairs to start measuring now, and count them as running."""
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
        """Record that one host of a pair has finished the measurement of a round."""
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
        """Record that one host of a pair cannot hear the other, so that another pair may start.

        Another may start in its place, but not with its two ends, before they are over.
        """
        grant = self._running.get((host, number))
        if grant is not None and grant not in self._given_up:
            self._given_up.add(grant)
            self._free(grant)

    def _free(self, grant: Grant) -> None:
        self._free_slots = sorted([*self._free_slots, grant.slot])

    def host_lost(self, host: int) -> None:
        """Drop a lost host's waiting pairs, and count its running measurement as ended by it."""
        for meeting in [waiting for waiting in self._waiting if host in waiting[1:]]:
            del self._waiting[meeting]
        for end, number in list(self._running):
            if end == host:
                self.over(end, number)


class ConcurrencyController:
    """Controller that halves the number of concurrent pairs if they disturb each other.

    Other work disturbs few pairs as much as many: where fewer at once brings no relief, the number
    goes back to what it was, and stays.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._seen: list[bool] = []
        self._before: tuple[int, float] | None = None
        self._is_settled = most == 1

    def meeting(self, *, is_disturbed: bool) -> str | None:
        """Record if a pair was disturbed; return a sentence if fewer or more pairs may now run."""
        if self._is_settled:
            return None
        self._seen.append(is_disturbed)
        if len(self._seen) < max(_FEWEST, 2 * self.most):
            return None
        share = sum(self._seen) / len(self._seen)
        self._seen = []
        if self._before is not None and share > _RELIEF * self._before[1]:
            self.most, self._is_settled = self._before[0], True
            return f"{self.most} pairs at a time again: fewer were disturbed as much"
        if share <= _TOO_MANY or self.most == 1:
            self._before = None
            return None
        self._before = (self.most, share)
        self.most //= 2
        pairs = "1 pair" if self.most == 1 else f"{self.most} pairs"
        return f"{pairs} at a time from here on: {self._before[0]} disturbed each other"


class Placement:
    """Assignment of processors to the two agents of a pair, where they share a machine.

    A reading would else depend on whether the scheduler puts the two ends together or apart. Hosts
    that meet at their own pace (`is_free`) run where they like.
    """

    def __init__(self, facts: Sequence[HostFacts], cores_per_pair: int, *, is_free: bool) -> None:
        self._machines = [fact.machine for fact in facts]
        self._processors = min((fact.cores for fact in facts), default=1)
        self._cores_per_pair = cores_per_pair
        self._is_free = is_free

    def processors(self, slot: int, leader: int, follower: int) -> tuple[int | None, int | None]:
        """Return the processor numbers for leader and follower of a pair; both None for any.

        From the last processor on: the first serves most of the machine's interrupts. With one core
        per pair both ends get the same; with two they differ where there are two. None where it
        does not matter.
        """
        if not self._is_placed(leader, follower):
            return None, None
        last = self._processors - 1
        first = slot * self._cores_per_pair
        second = first + self._cores_per_pair - 1
        return last - second % self._processors, last - first % self._processors

    def share_processor(self, one: int, other: int) -> bool:
        """Return whether both agents of a pair run on the same processor."""
        return self._is_placed(one, other) and min(self._cores_per_pair, self._processors) == 1

    def _is_placed(self, one: int, other: int) -> bool:
        machines = {self._machines[end] for end in (one, other)}
        return not self._is_free and len(machines) == 1 and machines != {""}
