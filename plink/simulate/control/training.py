"""Trainings in which the machine of every rank decides when gradients are reduced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.simulate.control.clocked import Clocked, Machine
from plink.simulate.control.costs import Costs, Oversleep, punctual
from plink.simulate.control.data import DataPlane
from plink.simulate.control.iterations import DisagreementError, Iteration
from plink.simulate.control.workload import Workload
from plink.training.control.actions import Action, Batch, Release, Warn
from plink.training.control.events import Done, Event, IterationEnded
from plink.training.control.graph import Order

# No iteration takes so long, unless ranks wait for each other for ever.
_LONGEST_S = 600.0


@dataclass
class _Buffer:
    names: tuple[str, ...]
    size_bytes: int
    released_by: int = 0
    released_s: float = 0.0


class Training:
    """Iterations, one after the other; all ranks begin the next when all is reduced.

    Args:
        machines: by rank.
        workload: of each rank.
        costs: of control.
        data: what happens to what is released.
        oversleep: of control threads.
        spinning: the share of the computing's speed that is lost while a control thread waits
            within a cycle; 0 where it does not spin, or has a processor of its own.
        heeds_done: ranks whose machines are told that an all-reduce has ended; None for all. In
            mode `tree` only the root makes anything of it, in modes with cycles nobody.
        order: that each rank has learnt when it has made all calls of an iteration; None for none.
        seed: of computing times.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        workload: Workload,
        costs: Costs,
        data: DataPlane,
        *,
        oversleep: Oversleep = punctual,
        spinning: float = 0.0,
        heeds_done: Sequence[int] | None = None,
        order: Order | None = None,
        seed: int = 0,
    ) -> None:
        ranks = range(len(machines))
        self.clock = Clocked(machines, costs, oversleep, do=self._do)
        self.iterations: list[Iteration] = []
        self._workload = workload
        self._calls = workload.events()
        self._data = data
        self._spinning = spinning
        self._ended = None if order is None else IterationEnded(order)
        self._heeds_done = ranks if heeds_done is None else heeds_done
        self._random = np.random.default_rng(seed)
        self._announcers = [functools.partial(self._announce, rank) for rank in ranks]
        self._wanted = 0
        # Of this iteration.
        self._iteration = Iteration()
        self._began_s = 0.0
        self._order: list[list[int]] = []
        self._ready_s: list[list[float]] = []
        self._made = [0 for _ in ranks]
        self._waited_before_s = [0.0 for _ in ranks]
        self._announced_s: dict[str, float] = {}
        # Of all of them.
        self._buffers: list[_Buffer] = []
        self._begun = [0 for _ in ranks]
        self._is_free_at_s = 0.0

    def run(self, iterations: int) -> list[Iteration]:
        """Run further iterations.

        Raises:
            DisagreementError: ranks do not agree, so that their machines are wrong.
        """
        self._wanted += iterations
        self.clock.start()
        self._begin()
        self.clock.run()
        if len(self.iterations) < self._wanted:
            raise DisagreementError("ranks wait for each other for ever")
        return self.iterations[-iterations:]

    # Computing.

    def _begin(self) -> None:
        ranks = len(self._made)
        order, ready_s = self._workload.drawn(ranks, self._random)
        self._order, self._ready_s = order.tolist(), ready_s.tolist()
        self._iteration = Iteration()
        self._announced_s = {}
        self._began_s = self.clock.now_s
        expire = functools.partial(self._expire, len(self.iterations))
        self.clock.at(self._began_s + _LONGEST_S, expire)
        for rank in range(ranks):
            self._made[rank] = 0
            self._waited_before_s[rank] = self.clock.waited_s(rank)
            self.clock.at(self._due_s(rank), self._announcers[rank])

    def _expire(self, iteration: int) -> None:
        if len(self.iterations) == iteration:
            raise DisagreementError(f"an iteration takes more than {_LONGEST_S:g} s")

    def _due_s(self, rank: int) -> float:
        """Return when a rank makes its next call if its thread waits for nobody from now on."""
        due_s = self._began_s + self._ready_s[rank][self._made[rank]]
        if self._spinning:
            waited_s = self.clock.waited_s(rank) - self._waited_before_s[rank]
            due_s += self._spinning * waited_s
        return due_s

    def _announce(self, rank: int) -> None:
        """All calls of a rank that are due; and then the next."""
        now_s, made = self.clock.now_s, self._made[rank]
        events: list[Event] = []
        while made < len(self._calls) and self._due_s(rank) <= now_s:
            for event in self._calls[self._order[rank][made]]:
                events.append(event)
                self._announced_s[event.requests[0].name] = now_s
            made += 1
            self._made[rank] = made
        if events:
            if self._ended is not None and made == len(self._calls):
                events.append(self._ended)
            self.clock.tell(rank, *events)
        if made < len(self._calls):
            self.clock.at(self._due_s(rank), self._announcers[rank])

    # What is released.

    def _do(self, rank: int, action: Action, at_s: float) -> None:
        if isinstance(action, Release):
            for batch in action.batches:
                self._release(rank, batch, at_s)
            if self._data.holds_thread:
                self.clock.hold(rank)
        elif not isinstance(action, Warn):
            raise DisagreementError(f"rank {rank} wants {action}")

    def _release(self, rank: int, batch: Batch, at_s: float) -> None:
        names = tuple([request.name for request in batch.requests])
        number = self._begun[rank]
        self._begun[rank] += 1
        if number == len(self._buffers):
            size_bytes = sum(request.size_bytes for request in batch.requests)
            self._buffers.append(_Buffer(names, size_bytes))
        buffer = self._buffers[number]
        if names != buffer.names:
            raise DisagreementError(f"rank {rank} released another buffer {number} than others")
        buffer.released_by += 1
        buffer.released_s = max(buffer.released_s, at_s)
        if buffer.released_by == len(self._made):
            self._reduce(number, buffer)

    def _reduce(self, number: int, buffer: _Buffer) -> None:
        """All ranks have begun an all-reduce: it follows the one before."""
        took_s = self._data.time_s(buffer.size_bytes)
        self._is_free_at_s = max(self._is_free_at_s, buffer.released_s) + took_s
        iteration = self._iteration
        iteration.reduced_s += took_s
        iteration.released.append(buffer.names)
        for name in buffer.names:
            iteration.latencies_s.append(buffer.released_s - self._announced_s[name])
        self.clock.at(self._is_free_at_s, functools.partial(self._end, number))

    def _end(self, number: int) -> None:
        for rank in self._heeds_done:
            self.clock.tell(rank, Done())
        if self._data.holds_thread and number + 1 == len(self._buffers):
            for rank in range(len(self._made)):
                self.clock.let_go(rank)
        done = sum(map(len, self._iteration.released))
        if done == self._workload.requests and number + 1 == len(self._buffers):
            self._iteration.took_s = self.clock.now_s - self._began_s
            self.iterations.append(self._iteration)
            if len(self.iterations) == self._wanted:
                self.clock.stop()
            else:
                self._begin()
