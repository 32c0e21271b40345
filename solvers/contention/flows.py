"""How long a collective takes whose ranks go on by themselves: flow by flow, in fluid.

`plink.solvers.contention.time` lets all ranks begin a round together. Here a rank begins its next
round once its own messages of the last one have arrived, so that flows of several rounds meet on
links. Rates are max-min fair (`plink.solvers.contention.fair`). What the software does is a
`Manner`: what it takes to begin a message, to add what arrived, and whether two ranks that exchange
do so at the same time or, as some libraries do with one connection for both, one after the other.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass

from plink.solvers.collectives.table import PeerTable, Round
from plink.solvers.contention.rounds import distinct_rounds
from plink.solvers.contention.shared_links import SharedLinks

# Of many rounds of one ring, so many are followed; the rest take as long each.
_MOST_OF_A_RING = 24

# A flow with less than this share of its bytes left has arrived, and a bucket with less is empty.
_REST = 1e-3

# Two moments that are so near are one.
_SAME_S = 1e-9


@dataclass(frozen=True)
class Manner:
    """What the software of the ranks does.

    Args:
        overhead_s: before a message begins, beside the network's latency: alpha, less that.
        reduction_s_byte: to add a byte that arrived: gamma.
        serialised: the share of exchanges in which one message waits for the other, 0 to 1.
        serialised_above_bytes: smaller messages do not wait.
    """

    overhead_s: float = 0.0
    reduction_s_byte: float = 0.0
    serialised: float = 0.0
    serialised_above_bytes: float = 65536.0


def flow_time_s(
    table: PeerTable,
    order: Sequence[int],
    latency_s: Sequence[Sequence[float]],
    links: SharedLinks,
    *,
    manner: Manner,
    seed: int = 0,
) -> float:
    """The time in seconds with rank r on host `order[r]`; ranks of one host exchange for free.

    Args:
        table: not pipelined.
        order: (R,) hosts.
        latency_s: (N, N) one way, between hosts.
        links: that flows between hosts cross.
        manner: of the software.
        seed: decides which exchanges are serialised, and which message goes first.

    Raises:
        ValueError: not a host for each rank, or a pipelined table.
    """
    if len(order) != table.ranks:
        raise ValueError(f"{len(order)} hosts for {table.ranks} ranks")
    if table.is_pipelined:
        raise ValueError("the rounds of a pipelined table do not follow one another")
    rounds = distinct_rounds(table)
    followed, times = list(table.rounds), 1.0
    if len(rounds) == 1 and rounds[0].goes_round and rounds[0].count > _MOST_OF_A_RING:
        followed, times = followed[:_MOST_OF_A_RING], rounds[0].count / _MOST_OF_A_RING
    return times * _Run(followed, order, latency_s, links, manner=manner, seed=seed).time_s()


@dataclass
class _Message:
    sender: int
    receiver: int
    size_bytes: float
    path: tuple[int, ...]
    latency_s: float
    ready: int = 0
    after: _Message | None = None
    before: _Message | None = None
    is_done: bool = False
    left_bytes: float = 0.0


class _Run:
    """One run: messages begin when both ranks are there, and rounds when messages have ended."""

    def __init__(
        self,
        rounds: Sequence[Round],
        order: Sequence[int],
        latency_s: Sequence[Sequence[float]],
        links: SharedLinks,
        *,
        manner: Manner,
        seed: int,
    ) -> None:
        self._links = links
        self._manner = manner
        ranks = len(order)
        self._programs: list[list[list[_Message]]] = [[] for _ in range(ranks)]
        chance = random.Random(seed)
        for step in rounds:
            by_pair: dict[tuple[int, int], _Message] = {}
            of_rank: dict[int, list[_Message]] = {}
            for source, destination, size in zip(
                step.sources.tolist(),
                step.destinations.tolist(),
                step.sizes_bytes.tolist(),
                strict=True,
            ):
                if source == destination:
                    continue
                one, other = order[source], order[destination]
                message = _Message(
                    source, destination, size, links.path(one, other), latency_s[one][other]
                )
                by_pair[source, destination] = message
                of_rank.setdefault(source, []).append(message)
                of_rank.setdefault(destination, []).append(message)
                back = by_pair.get((destination, source))
                if back is not None and self._waits(message, back, chance):
                    first, second = (back, message) if chance.random() < 0.5 else (message, back)
                    second.after, first.before = first, second
            for rank, messages in of_rank.items():
                self._programs[rank].append(messages)
        self._place = [-1] * ranks
        self._pending = [0] * ranks
        self._now_s = 0.0
        # (time, number, message that begins or None, rank that goes on)
        self._events: list[tuple[float, int, _Message | None, int]] = []
        self._number = 0
        self._active: list[_Message] = []
        self._tokens = list(links.burst_bytes)

    def _waits(self, one: _Message, other: _Message, chance: random.Random) -> bool:
        least = min(one.size_bytes, other.size_bytes)
        return (
            bool(one.path)
            and least > self._manner.serialised_above_bytes
            and chance.random() < self._manner.serialised
        )

    def time_s(self) -> float:
        for rank in range(len(self._place)):
            self._go_on(rank)
        while self._events or self._active:
            rates, used = self._links.fair(self._active, self._tokens)
            ends_s = min(
                (
                    message.left_bytes / rate
                    for message, rate in zip(self._active, rates, strict=True)
                ),
                default=float("inf"),
            )
            empties_s = self._links.next_empty_s(self._tokens, used)
            event_s = self._events[0][0] - self._now_s if self._events else float("inf")
            step_s = max(0.0, min(ends_s, empties_s, event_s))
            self._pass(step_s, rates, used)
        return self._now_s

    def _pass(self, step_s: float, rates: Sequence[float], used: Sequence[float]) -> None:
        """Let time pass, then let end and begin what is due."""
        self._now_s += step_s
        self._links.drain(self._tokens, used, step_s)
        going, ended = [], []
        for message, rate in zip(self._active, rates, strict=True):
            message.left_bytes -= min(message.left_bytes, rate * step_s if step_s else 0.0)
            is_over = message.left_bytes <= _REST * message.size_bytes or rate == float("inf")
            (ended if is_over else going).append(message)
        self._active = going
        for message in ended:
            self._end(message)
        while self._events and self._events[0][0] <= self._now_s + _SAME_S:
            _, _, begun, rank = heapq.heappop(self._events)
            if begun is None:
                self._go_on(rank)
            elif begun.path and begun.size_bytes > 0.0:
                begun.left_bytes = begun.size_bytes
                self._active.append(begun)
            else:
                self._end(begun)

    def _go_on(self, rank: int) -> None:
        """A rank begins its next round."""
        self._place[rank] += 1
        if self._place[rank] >= len(self._programs[rank]):
            return
        messages = self._programs[rank][self._place[rank]]
        self._pending[rank] = len(messages)
        for message in messages:
            message.ready += 1
            self._try_to_begin(message)

    def _try_to_begin(self, message: _Message) -> None:
        """It begins if both ranks are there, and what it waits for has ended."""
        first = message.after
        if message.ready == 2 and (first is None or first.is_done):
            begins_s = self._now_s + message.latency_s + self._manner.overhead_s
            self._push(begins_s, message, -1)

    def _end(self, message: _Message) -> None:
        message.is_done = True
        if message.before is not None:
            self._try_to_begin(message.before)
        for rank in (message.sender, message.receiver):
            self._pending[rank] -= 1
            if self._pending[rank] == 0:
                added_s = self._manner.reduction_s_byte * message.size_bytes
                self._push(self._now_s + added_s, None, rank)

    def _push(self, time_s: float, message: _Message | None, rank: int) -> None:
        self._number += 1
        heapq.heappush(self._events, (time_s, self._number, message, rank))
