"""Machines on a clock, whose threads now and then sleep for longer than they asked for."""

from __future__ import annotations

import heapq
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence

from plink.training.control.actions import Send, SleepUntil
from plink.training.control.cycles import Cycles
from plink.training.control.events import Event, Heard, Ticked

Oversleep = Callable[[int, int], float]


def often(rng: random.Random, share: float, by_s: float) -> Oversleep:
    """This share of sleeps lasts longer by so much."""
    return lambda _rank, _cycle: by_s if rng.random() < share else 0.0


class Clocked:
    """Until `run`, at time 0.

    Args:
        machines: by rank.
        oversleep: of a rank after one of its cycles, in seconds.
        latency_s: of each message.
    """

    def __init__(
        self, machines: Sequence[Cycles], oversleep: Oversleep, latency_s: float = 5e-5
    ) -> None:
        self._machines = machines
        self._oversleep = oversleep
        self._latency_s = latency_s
        self._events: list[tuple[float, int, int, int, bytes | None]] = []
        self._count = 0
        self._heard: list[list[Event]] = [[] for _ in machines]
        self._is_asleep = [False] * len(machines)
        # Of the last sleep that was asked for; what was asked for before is forgotten.
        self._asked = [0] * len(machines)
        self._waits_since_s: list[float | None] = [None] * len(machines)
        # By rank: when it began each cycle, and how long it waited for others in all.
        self.began_s: dict[int, dict[int, float]] = defaultdict(dict)
        self.waited_s = [0.0] * len(machines)

    def run(self, until_s: float) -> None:
        """Let time pass."""
        for rank in range(len(self._machines)):
            self._step(rank, [], 0.0)
        while self._events and self._events[0][0] <= until_s:
            now_s, count, source, rank, message = heapq.heappop(self._events)
            if message is not None:
                self._heard[rank].append(Heard(source, message))
                if not self._is_asleep[rank]:
                    self._step(rank, self._take(rank), now_s)
            elif count == self._asked[rank]:
                self._is_asleep[rank] = False
                before = self._machines[rank].cycles
                self._step(rank, [*self._take(rank), Ticked()], now_s)
                if self._machines[rank].cycles > before:
                    self.began_s[before + 1][rank] = now_s

    def spreads_s(self) -> list[float]:
        """Of each cycle that all have begun: from the first rank to the last."""
        whole = [times for times in self.began_s.values() if len(times) == len(self._machines)]
        return [max(times.values()) - min(times.values()) for times in whole]

    def _take(self, rank: int) -> list[Event]:
        heard, self._heard[rank] = self._heard[rank], []
        return heard

    def _step(self, rank: int, events: list[Event], now_s: float) -> None:
        for action in self._machines[rank].step(events, now_s):
            if isinstance(action, Send):
                self._push(now_s + self._latency_s, rank, action.rank, action.message)
            elif isinstance(action, SleepUntil):
                self._sleep(rank, action, now_s)
        waits = not self._is_asleep[rank]
        since_s = self._waits_since_s[rank]
        if not waits and since_s is not None:
            self.waited_s[rank] += now_s - since_s
        self._waits_since_s[rank] = (now_s if since_s is None else since_s) if waits else None

    def _sleep(self, rank: int, action: SleepUntil, now_s: float) -> None:
        self._is_asleep[rank] = not action.wakes_on_message
        self._asked[rank] = -1
        if math.isfinite(action.at_s):
            longer_s = 0.0
            if action.at_s > now_s:
                longer_s = self._oversleep(rank, self._machines[rank].cycles)
            self._asked[rank] = self._count
            self._push(max(now_s, action.at_s) + longer_s, rank, rank, None)

    def _push(self, at_s: float, source: int, rank: int, message: bytes | None) -> None:
        heapq.heappush(self._events, (at_s, self._count, source, rank, message))
        self._count += 1
