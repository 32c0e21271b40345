"""Machines that talk to each other in an order that chance or a search chooses."""

from __future__ import annotations

import math
import random
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Protocol

from plink.training.control.actions import (
    Action,
    AllJoined,
    FailAll,
    Refuse,
    RefuseHere,
    Release,
    Send,
    SleepUntil,
    Warn,
)
from plink.training.control.events import (
    Announced,
    Done,
    Event,
    Heard,
    Joined,
    Left,
    Lost,
    Ticked,
)
from plink.training.control.requests import Request

# From the last announcement to the release, in modes with cycles.
MOST_CYCLES = 2

# Ranks are never so many messages of the root apart in tests.
_MOST_DIGESTS = 64


class Machine(Protocol):
    """What every mode has."""

    @property
    def digest(self) -> int: ...

    @property
    def messages_taken(self) -> int: ...

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]: ...


class Network:
    """Machines, what is on its way between them, and what each wants done.

    Args:
        machines: by rank.
        completes: a batch ends as soon as it is released.
    """

    def __init__(self, machines: Sequence[Machine], *, completes: bool = True) -> None:
        self.machines = list(machines)
        self.now_s = 0.0
        # None for who has closed.
        self.links: dict[tuple[int, int], deque[bytes | None]] = defaultdict(deque)
        self.released: list[list[tuple[str, ...]]] = [[] for _ in machines]
        self.names: list[list[str]] = [[] for _ in machines]
        self.refused: list[list[tuple[str, str]]] = [[] for _ in machines]
        self.refused_here: list[list[str]] = [[] for _ in machines]
        self.warned: list[list[str]] = [[] for _ in machines]
        self.joined: list[list[int]] = [[] for _ in machines]
        self.failed: list[str] = [""] * len(machines)
        self.wakes_s = [math.inf] * len(machines)
        # Ranks that hear nothing until they wake.
        self.asleep: set[int] = set()
        self.lost: set[int] = set()
        self.pending: list[set[str]] = [set() for _ in machines]
        # In which cycle a name was last announced, or a rank joined.
        self.announced_in: dict[str, int] = {}
        self.joined_in = 0
        self.has_joined: set[int] = set()
        self.sent = 0
        self.sent_bytes = 0
        # By how much was heard of the root: the newest.
        self.digests: dict[int, int] = {}
        self._completes = completes
        for rank in range(len(machines)):
            self.step(rank, [])

    def step(self, rank: int, events: Sequence[Event]) -> None:
        """Tell one machine, and do what it wants."""
        machine = self.machines[rank]
        done = 0
        for action in machine.step(events, self.now_s):
            if isinstance(action, Send):
                self.links[rank, action.rank].append(action.message)
                self.sent += 1
                self.sent_bytes += len(action.message)
            elif isinstance(action, Release):
                done += len(action.batches)
                self._release(rank, action)
            elif isinstance(action, SleepUntil):
                self.wakes_s[rank] = action.at_s
                (self.asleep.discard if action.wakes_on_message else self.asleep.add)(rank)
            else:
                self._note(rank, action)
        known = self.digests.setdefault(machine.messages_taken, machine.digest)
        assert known == machine.digest, f"rank {rank} has another digest"
        if len(self.digests) > _MOST_DIGESTS:
            del self.digests[min(self.digests)]
        if done and self._completes:
            self.step(rank, [Done(done)])

    def _release(self, rank: int, action: Release) -> None:
        for batch in action.batches:
            self.released[rank].append(tuple(one.name for one in batch.requests))
            for one in batch.requests:
                self.names[rank].append(one.name)
                self._end(rank, one.name)

    def _note(self, rank: int, action: Action) -> None:
        if isinstance(action, Refuse):
            self.refused[rank].append((action.name, action.text))
            self.pending[rank].remove(action.name)
        elif isinstance(action, RefuseHere):
            self.refused_here[rank].append(action.text)
        elif isinstance(action, Warn):
            self.warned[rank].append(action.text)
        elif isinstance(action, AllJoined):
            self.joined[rank].append(action.last)
            self.has_joined.discard(rank)
        else:
            assert isinstance(action, FailAll)
            self.failed[rank] = action.text

    def _end(self, rank: int, name: str) -> None:
        assert name in self.pending[rank] or rank in self.has_joined, f"{name} on rank {rank}"
        self.pending[rank].discard(name)
        cycles = getattr(self.machines[rank], "cycles", 0)
        since = max(self.announced_in.get(name, 0), self.joined_in)
        assert cycles <= since + MOST_CYCLES, f"{name} took {cycles - since} cycles"

    def announce(self, rank: int, *requests: Request) -> None:
        """One call of the program."""
        refused = len(self.refused_here[rank])
        names = {one.name for one in requests}
        before = self.pending[rank]
        self.pending[rank] = before | names
        cycle = getattr(self.machines[rank], "cycles", 0)
        for name in names:
            self.announced_in[name] = max(cycle, self.announced_in.get(name, 0))
        self.step(rank, [Announced(requests)])
        if len(self.refused_here[rank]) > refused:
            self.pending[rank] = before

    def join(self, rank: int) -> None:
        """The program has no more data."""
        self.joined_in = max(self.joined_in, getattr(self.machines[rank], "cycles", 0))
        self.has_joined.add(rank)
        self.step(rank, [Joined()])

    def lose(self, rank: int) -> None:
        """It closes its engine, which others hear after all that it sent."""
        self.lost.add(rank)
        self.step(rank, [Lost("this rank has closed")])
        self.wakes_s[rank] = math.inf
        for other in range(len(self.machines)):
            if other != rank:
                self.links[rank, other].append(None)

    def busy_links(self) -> list[tuple[int, int]]:
        """Where something is on its way to a rank that hears."""
        return [
            link
            for link, queue in self.links.items()
            if queue and link[1] not in self.asleep and link[1] not in self.lost
        ]

    def sleepers(self) -> list[int]:
        """Ranks that hear nothing until they wake."""
        return sorted(self.asleep - self.lost)

    def deliver(self, link: tuple[int, int], most: int = 1) -> None:
        """The next messages of one link arrive together."""
        self.step(link[1], self.arrive(link, most))

    def deliver_except_to(self, rank: int) -> None:
        """Let all messages arrive, also those that follow, but for those to this rank."""
        while links := [link for link in self.busy_links() if link[1] != rank]:
            self.deliver(links[0])

    def tick(self, rank: int) -> None:
        """It wakes, and hears what came meanwhile."""
        heard: list[Event] = []
        for link in list(self.links):
            if link[1] == rank:
                heard += self.arrive(link, len(self.links[link]))
        if heard:
            self.step(rank, heard)
        self.asleep.discard(rank)
        self.wakes_s[rank] = math.inf
        self.step(rank, [Ticked()])

    def arrive(self, link: tuple[int, int], most: int = 1) -> list[Event]:
        """Take the next messages of a link."""
        queue = self.links[link]
        events: list[Event] = []
        while queue and len(events) < most:
            message = queue.popleft()
            if message is None:
                events.append(Left(link[0], f"rank {link[0]} closed its engine"))
            else:
                events.append(Heard(link[0], message))
        return events

    def settle(self, rng: random.Random | None = None, until_s: float = 0.0) -> None:
        """Let everything arrive, in any order; timers fire when nothing else happens."""
        until_s = max(until_s, self.now_s + 0.01)
        while True:
            if busy := self.busy_links():
                self.deliver(rng.choice(busy) if rng else busy[0], rng.randint(1, 3) if rng else 1)
                continue
            wakes_s = min(self.wakes_s)
            if wakes_s > until_s:
                self.now_s = until_s
                return
            self.now_s = max(self.now_s, wakes_s)
            self.tick(self.wakes_s.index(wakes_s))

    def clone(self) -> Network:
        """Apart from this one, with the same machines."""
        clone: Network = object.__new__(Network)
        vars(clone).update(vars(self))
        clone.machines = list(self.machines)
        clone.links = defaultdict(deque, {link: deque(q) for link, q in self.links.items() if q})
        for name in ("released", "names", "refused", "refused_here", "warned", "joined"):
            setattr(clone, name, [list(one) for one in getattr(self, name)])
        clone.pending = [set(one) for one in self.pending]
        for name in ("failed", "wakes_s", "asleep", "lost", "has_joined"):
            setattr(clone, name, getattr(self, name).copy())
        clone.announced_in = dict(self.announced_in)
        clone.digests = dict(self.digests)
        return clone

    def check(self) -> None:
        """All ranks released the same, in the same order, as far as each has come."""
        longest = max(self.released, key=len)
        for rank, released in enumerate(self.released):
            assert released == longest[: len(released)], f"rank {rank} released in another order"
