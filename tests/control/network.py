"""Machines that talk to each other in an order that chance or a search chooses."""

from __future__ import annotations

import math
import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
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
from plink.training.control.events import Announced, Done, Event, Heard, Joined, Ticked
from plink.training.control.requests import Request


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
        agrees: ranks that took as many messages of the root have one digest.
    """

    def __init__(
        self, machines: Sequence[Machine], *, completes: bool = True, agrees: bool = True
    ) -> None:
        self.machines = machines
        self.now_s = 0.0
        self.links: dict[tuple[int, int], deque[bytes]] = defaultdict(deque)
        self.released: list[list[tuple[str, ...]]] = [[] for _ in machines]
        self.names: list[list[str]] = [[] for _ in machines]
        self.refused: list[list[tuple[str, str]]] = [[] for _ in machines]
        self.refused_here: list[list[str]] = [[] for _ in machines]
        self.warned: list[list[str]] = [[] for _ in machines]
        self.joined: list[list[int]] = [[] for _ in machines]
        self.failed: list[str] = [""] * len(machines)
        self.wakes_s = [math.inf] * len(machines)
        self.sent = 0
        self.sent_bytes = 0
        self.digests: dict[int, int] = {}
        self._completes = completes
        self._agrees = agrees

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
                for batch in action.batches:
                    self.released[rank].append(tuple(one.name for one in batch.requests))
                    self.names[rank] += [one.name for one in batch.requests]
            elif isinstance(action, Refuse):
                self.refused[rank].append((action.name, action.text))
            elif isinstance(action, RefuseHere):
                self.refused_here[rank].append(action.text)
            elif isinstance(action, Warn):
                self.warned[rank].append(action.text)
            elif isinstance(action, AllJoined):
                self.joined[rank].append(action.last)
            elif isinstance(action, SleepUntil):
                self.wakes_s[rank] = action.at_s
            else:
                assert isinstance(action, FailAll)
                self.failed[rank] = action.text
        known = self.digests.setdefault(machine.messages_taken, machine.digest)
        assert known == machine.digest or not self._agrees, f"rank {rank} has another digest"
        if done and self._completes:
            self.step(rank, [Done(done)])

    def announce(self, rank: int, *requests: Request) -> None:
        """One call of the program."""
        self.step(rank, [Announced(requests)])

    def join(self, rank: int) -> None:
        """The program has no more data."""
        self.step(rank, [Joined()])

    def busy_links(self) -> list[tuple[int, int]]:
        """Where something is on its way."""
        return [link for link, queue in self.links.items() if queue]

    def deliver(self, link: tuple[int, int], most: int = 1) -> None:
        """The next messages of one link arrive together."""
        queue = self.links[link]
        events: list[Event] = []
        while queue and len(events) < most:
            events.append(Heard(link[0], queue.popleft()))
        self.step(link[1], events)

    def settle(self, rng: random.Random | None = None, until_s: float = 0.0) -> None:
        """Let everything arrive, in any order; timers fire when nothing else happens."""
        while True:
            if busy := self.busy_links():
                self.deliver(rng.choice(busy) if rng else busy[0], rng.randint(1, 3) if rng else 1)
                continue
            wakes_s = min(self.wakes_s)
            if wakes_s > max(until_s, self.now_s + 0.01):
                self.now_s = max(self.now_s, until_s)
                return
            self.now_s = max(self.now_s, wakes_s)
            rank = self.wakes_s.index(wakes_s)
            self.wakes_s[rank] = math.inf
            self.step(rank, [Ticked()])

    def check(self) -> None:
        """All ranks released the same, in the same order, as far as each has come."""
        longest = max(self.released, key=len)
        for rank, released in enumerate(self.released):
            assert released == longest[: len(released)], f"rank {rank} released in another order"


Script = Callable[[Network, int], bool]
