"""Reference simulation of messages that share links, which the native one must equal."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

from plink.solvers.contention.flows import (
    ALWAYS,
    EMPTY,
    PEAK_BYTES_S,
    CoreTurns,
    Messages,
    SharedLinks,
)

# A flow with less than this share of its bytes left has arrived.
_REST = 1e-3

# Two moments that are so near are one.
_SAME_S = 1e-9


def run_time_s(
    messages: Messages, links: SharedLinks, reduction_s_byte: float, turns: CoreTurns = ALWAYS
) -> float:
    """Return seconds until all messages have arrived (`plink.solvers.contention.flows`)."""
    return _FlowSimulation(messages, links, reduction_s_byte, turns).time_s()


class _FlowSimulation:
    """State of a simulation: messages start when both ranks are ready."""

    def __init__(
        self, messages: Messages, links: SharedLinks, reduction_s_byte: float, turns: CoreTurns
    ) -> None:
        self._messages = messages
        self._links = links
        self._turns = turns
        self._takes_turns = turns.cycle_s > 0.0
        self._reduction_s_byte = reduction_s_byte
        count = len(messages.senders)
        # [rank][step]: the messages of the rank's own rounds.
        steps: list[dict[int, list[int]]] = [{} for _ in range(messages.ranks)]
        for message in range(count):
            for rank in (messages.senders[message], messages.receivers[message]):
                steps[rank].setdefault(messages.rounds[message], []).append(message)
        self._steps = [list(of_rank.values()) for of_rank in steps]
        self._before = {first: place for place, first in enumerate(messages.after) if first >= 0}
        self._place = [-1] * messages.ranks
        self._pending = [0] * messages.ranks
        self._ready = [0] * count
        self._is_begun = [False] * count
        self._is_done = [False] * count
        self._left = list(messages.sizes_bytes)
        self._now_s = 0.0
        # When, in which sequence, the message that begins or -1, the rank that goes on.
        self._events: list[tuple[float, int, int, int]] = []
        self._number = 0
        self._active: list[int] = []
        self._tokens = list(links.burst_bytes)

    def time_s(self) -> float:
        for rank in range(self._messages.ranks):
            if self._steps[rank]:
                self._push(self._turn_s(rank, 0.0), -1, rank)
        while self._events or self._active:
            paths = [self._messages.paths[message] for message in self._active]
            rates, used = fair(paths, self._links, self._tokens)
            ends_s = [
                self._left[message] / rate
                for message, rate in zip(self._active, rates, strict=True)
            ]
            event_s = [self._events[0][0] - self._now_s] if self._events else []
            empties_s = next_empty_s(self._links, self._tokens, used)
            self._pass(max(0.0, min([*ends_s, *event_s, empties_s])), rates, used)
        return self._now_s

    def _pass(self, step_s: float, rates: Sequence[float], used: dict[int, float]) -> None:
        """Advance time, then end and start what is due."""
        self._now_s += step_s
        for link, burst in enumerate(self._links.burst_bytes):
            if burst > 0.0:
                gained = (self._links.rate_bytes_s[link] - used.get(link, 0.0)) * step_s
                self._tokens[link] = min(burst, max(0.0, self._tokens[link] + gained))
        going: list[int] = []
        ended: list[int] = []
        for message, rate in zip(self._active, rates, strict=True):
            if step_s > 0.0:
                self._left[message] -= min(self._left[message], rate * step_s)
            rest = _REST * self._messages.sizes_bytes[message]
            is_over = self._left[message] <= rest or rate == float("inf")
            (ended if is_over else going).append(message)
        self._active = going
        for message in ended:
            self._end(message)
        while self._events and self._events[0][0] <= self._now_s + _SAME_S:
            _, _, begun, rank = heapq.heappop(self._events)
            if begun < 0:
                self._go_on(rank)
            elif self._messages.paths[begun] and self._messages.sizes_bytes[begun] > 0.0:
                self._active.append(begun)
            else:
                self._end(begun)

    def _turn_s(self, rank: int, time_s: float) -> float:
        """Return when a rank that is ready at a given time gets its core."""
        turns = self._turns
        if not self._takes_turns:
            return time_s
        since_s = time_s - turns.begins_s[rank]
        into_s = since_s - turns.cycle_s * math.floor(since_s / turns.cycle_s)
        return time_s if into_s < turns.slice_s else time_s + turns.cycle_s - into_s

    def _go_on(self, rank: int) -> None:
        """Start a rank's next round."""
        self._place[rank] += 1
        if self._place[rank] >= len(self._steps[rank]):
            return
        step = self._steps[rank][self._place[rank]]
        self._pending[rank] = sum(not self._is_done[message] for message in step)
        for message in step:
            if self._messages.senders[message] == rank or not self._takes_turns:
                self._ready[message] += 1
            self._try_to_begin(message)
        if self._pending[rank] == 0:
            self._leave(rank, step[-1])

    def _try_to_begin(self, message: int) -> None:
        """Start a message if its ranks and its predecessor are ready."""
        first = self._messages.after[message]
        is_ready = self._ready[message] == (1 if self._takes_turns else 2)
        if self._is_begun[message] or not is_ready or not (first < 0 or self._is_done[first]):
            return
        self._is_begun[message] = True
        begin_s = self._turn_s(self._messages.senders[message], self._now_s)
        self._push(begin_s + self._messages.delays_s[message], message, -1)

    def _end(self, message: int) -> None:
        self._is_done[message] = True
        if message in self._before:
            self._try_to_begin(self._before[message])
        for rank in (self._messages.senders[message], self._messages.receivers[message]):
            place = self._place[rank]
            is_under_way = 0 <= place < len(self._steps[rank])
            if is_under_way and message in self._steps[rank][place]:
                self._pending[rank] -= 1
                if self._pending[rank] == 0:
                    self._leave(rank, message)

    def _leave(self, rank: int, message: int) -> None:
        """End a rank's round once it has reduced its last message."""
        added_s = self._reduction_s_byte * self._messages.sizes_bytes[message]
        self._push(self._turn_s(rank, self._now_s + added_s), -1, rank)

    def _push(self, time_s: float, message: int, rank: int) -> None:
        self._number += 1
        heapq.heappush(self._events, (time_s, self._number, message, rank))


def fair(
    paths: Sequence[tuple[int, ...]], links: SharedLinks, tokens: Sequence[float]
) -> tuple[list[float], dict[int, float]]:
    """Return max-min fair rates (Bertsekas and Gallager, Data Networks, 1992, §6.5.2).

    Args:
        paths: the links of each flow that is under way.
        links: all of them.
        tokens: (L,) bytes in each link's bucket.

    Returns:
        the rate of each flow, and what each link that is crossed carries, in bytes/s.
    """
    count: dict[int, int] = {}
    for path in paths:
        for link in path:
            count[link] = count.get(link, 0) + 1
    room: dict[int, float] = {}
    for link in count:
        has_burst = tokens[link] > EMPTY * links.burst_bytes[link]
        rate = links.rate_bytes_s[link]
        room[link] = max(rate, PEAK_BYTES_S) if has_burst else rate
    whole = dict(room)
    rates = [float("inf")] * len(paths)
    rising = list(range(len(paths)))
    while rising:
        level = min(room[link] / crossing for link, crossing in count.items() if crossing)
        limit = level * (1.0 + 1e-9)
        full = {
            link for link, crossing in count.items() if crossing and room[link] <= limit * crossing
        }
        going = []
        for number in rising:
            if full.isdisjoint(paths[number]):
                going.append(number)
                continue
            rates[number] = level
            for link in paths[number]:
                room[link] -= level
                count[link] -= 1
        rising = going
    return rates, {link: whole[link] - room[link] for link in whole}


def next_empty_s(links: SharedLinks, tokens: Sequence[float], used: dict[int, float]) -> float:
    """Return the time until the first token bucket is empty at these rates."""
    least_s = float("inf")
    for link, burst in enumerate(links.burst_bytes):
        excess = used.get(link, 0.0) - links.rate_bytes_s[link]
        empty = EMPTY * burst
        if burst > 0.0 and excess > 1e-6 * links.rate_bytes_s[link] and tokens[link] > empty:
            # A little beyond, so that rounding leaves nothing.
            least_s = min(least_s, (tokens[link] - 0.5 * empty) / excess)
    return least_s
