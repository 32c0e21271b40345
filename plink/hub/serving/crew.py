"""Membership of a service: seats given, lost, awaited, given up. Without sockets.

Lanes go on by themselves as long as nobody comes or goes; only then are they told something. That
takes a while where they are at several servers, and one thing is decided after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from plink.base.text import format_count
from plink.hub.service import ServiceOptions
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.leading import Everywhere
from plink.hub.session.messages import Join

_MOST_INCARNATION = 0xFFFF
# A new worker takes part so many iterations later at first: lanes go on while they are told.
_AHEAD = 2
_MOST_AHEAD = 1 << 20


@dataclass(frozen=True)
class Seat:
    """Place of a worker in a service: its number, incarnation and first iteration.

    Args:
        number, incarnation: its own.
        iteration: the first to which it contributes.
    """

    number: int
    incarnation: int
    iteration: int


@dataclass
class _Absent:
    """Lost worker that the service waits for: the error and timer for giving it up."""

    sentence: str
    alarm: asyncio.TimerHandle


@dataclass
class Crew:
    """Membership of a service: the workers that contribute, and those it waits for.

    Args:
        options: of the service.
        lanes: of all its servers.
        fail: what to do when a worker that is waited for does not come.
        connections: for data, of each worker.
    """

    options: ServiceOptions
    lanes: Everywhere
    fail: Callable[[str], None]
    connections: int = 0
    _present: dict[int, int] = field(default_factory=dict)
    # The first iteration to which each contributes.
    _since: dict[int, int] = field(default_factory=dict)
    _absent: dict[int, _Absent] = field(default_factory=dict)
    _incarnations: int = 0
    _revision: int = 0
    _is_gathering: bool = True
    # Those who are there early may have begun it before others come.
    _first: int = 1
    _used: set[int] = field(default_factory=set)
    # Of those, the ones that lanes do not expect any more.
    _dropped: set[int] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def workers(self) -> int:
        """Number of workers that contribute, or that will once all have joined."""
        if self._is_gathering:
            return self.options.workers
        return len(self._present) + len(self._absent)

    def begin_after(self, iteration: int) -> None:
        """Let the first workers begin with the iteration after the given one."""
        self._first = iteration + 1

    async def seat(self, join: Join) -> Seat:
        """Seat a worker that joins, comes back or replaces a lost one, and return its seat.

        Raises:
            ServiceError: there is none.
        """
        async with self._turn:
            if join.is_back:
                seat = await self._come_back(join)
            elif self._is_gathering:
                number = self._free(join.worker, self.options.workers)
                since = await self._begin(number)
                seat = Seat(number, self._incarnation(join), since)
            elif self._absent:
                seat = await self._take_over(join)
            else:
                seat = await self._join_late(join)
            self._present[seat.number] = seat.incarnation
            self._since[seat.number] = seat.iteration
            if len(self._present) == self.options.workers:
                self._is_gathering = False
            await self.lanes.seat(seat.number, seat.incarnation)
            return seat

    async def lost(self, number: int, incarnation: int, sentence: str) -> str | None:
        """Handle the loss of a worker; return why the service fails, or None if it goes on."""
        async with self._turn:
            if self._present.get(number) != incarnation:
                return None
            return await self._lose(number, sentence)

    async def _lose(self, number: int, sentence: str) -> str | None:
        del self._present[number]
        iteration = await self.lanes.iteration()
        is_early = self._is_gathering and iteration < self._first
        if is_early and (self.options.on_loss != "wait" or iteration == 0):
            # Nothing that it was to contribute to has begun.
            await self.lanes.cut(number)
        elif self.options.on_loss == "fail":
            return sentence
        elif self.options.on_loss == "wait":
            await self.lanes.cut(number)
            self._await(number, sentence)
        else:
            await self._go_on_without(number)
        return None

    async def left(self, number: int, incarnation: int) -> None:
        """Remove a worker that has left the service after its last iteration."""
        async with self._turn:
            if self._present.get(number) != incarnation:
                return
            del self._present[number]
            if self.options.on_loss == "shrink":
                await self._go_on_without(number)
            else:
                await self.lanes.retire(number, f"worker {number} has left")
                await self._gather_if_empty()

    async def _go_on_without(self, number: int) -> None:
        """Drop a worker; its push counts if complete and others are left to end the iteration."""
        await self.lanes.cut(number)
        # From here on no lane ends an iteration that lacks a part of it.
        iteration = await self.lanes.iteration()
        if self._is_gathering and iteration < self._first:
            return
        since = iteration
        if self._is_gathering or self._has_contributors(iteration):
            since += await self.lanes.has_all_of(number, iteration)
        self._revision += 1
        await self.lanes.drop(number, max(since, self._since[number]), self._revision)
        self._dropped.add(number)
        await self._gather_if_empty()
        await self._pass_over()

    async def _pass_over(self) -> None:
        """Skip the iterations to which nobody contributes, as all workers join after them."""
        if not self._present or self._is_gathering:
            return
        iteration, is_even = await self.lanes.ended()
        if self._has_contributors(iteration):
            return
        first = min(self._since[number] for number in self._present)
        if not is_even or not await self.lanes.pass_over(first - 1):
            self.fail("the last workers were lost when they had ended an iteration in part")

    def _has_contributors(self, iteration: int) -> bool:
        if self.options.mode != "sync":
            return True
        return any(self._since[number] <= iteration for number in self._present)

    async def _gather_if_empty(self) -> None:
        """If no worker is left, let the next one wait until as many have joined as at first."""
        if self._present or self._absent:
            return
        self._is_gathering = True
        if self.options.mode == "sync":
            self._used.clear()
        self._dropped.clear()
        await self.lanes.gather()
        iteration, is_even = await self.lanes.ended()
        if self.options.mode == "sync" and not is_even:
            self.fail("the last worker was lost when it had ended an iteration in part")
        self._first = iteration + 1

    def _await(self, number: int, sentence: str) -> None:
        def give_up() -> None:
            if self._absent.get(number) is absent:
                del self._absent[number]
                grace_s = self.options.grace_s
                self.fail(f"{sentence}, and it did not come back in {grace_s:g} s")

        alarm = asyncio.get_running_loop().call_later(self.options.grace_s, give_up)
        absent = self._absent[number] = _Absent(sentence, alarm)

    async def _come_back(self, join: Join) -> Seat:
        number = join.worker
        if number is not None and self._present.get(number) == join.incarnation:
            # Its end has noticed first that a connection broke.
            failure = await self._lose(number, f"worker {number} is lost")
            if failure is not None:
                raise ServiceError(failure)
        if number is None or number not in self._absent:
            raise ServiceError(f"worker {number} is not waited for", "join as a new worker")
        self._absent.pop(number).alarm.cancel()
        return Seat(number, self._next_incarnation(), await self.lanes.iteration() + 1)

    async def _take_over(self, join: Join) -> Seat:
        """Seat a new process in the place of a lost worker, whose pushes count."""
        number = min(self._absent) if join.worker is None else join.worker
        if number not in self._absent:
            raise ServiceError(f"worker {number} is not waited for")
        self._absent.pop(number).alarm.cancel()
        iteration = await self.lanes.iteration()
        is_done = True
        if self.options.mode == "sync":
            is_done = await self.lanes.has_all_of(number, iteration)
        return Seat(number, self._incarnation(join), max(1, iteration + is_done))

    async def _begin(self, number: int) -> int:
        """Return the first iteration of a worker that joins while others are still awaited."""
        is_first = number not in self._used
        self._used.add(number)
        if number in self._dropped:
            # One that had its number has begun, and was lost, before all were there.
            self._dropped.discard(number)
            return await self._admit(number)
        if is_first or self.options.mode == "sync":
            return self._first
        # The same, and it has left.
        since = await self.lanes.iteration() + 1
        await self.lanes.admit(number, since)
        return since

    async def _join_late(self, join: Join) -> Seat:
        self.check_quotas(len(self._present) + len(self._absent) + 1)
        number = self._free(join.worker, self.options.quotas.workers)
        since = await self._admit(number)
        return Seat(number, self._incarnation(join), since)

    async def _admit(self, number: int) -> int:
        """Admit a worker to all lanes and return its first iteration, which none has begun."""
        ahead = _AHEAD if self.options.mode == "sync" else 1
        while ahead < _MOST_AHEAD:
            since = await self.lanes.iteration() + ahead
            if await self.lanes.admit(number, since):
                return since
            ahead *= 2
        raise ServiceError("the service's iterations are too short to join them")

    def check_quotas(self, workers: int) -> None:
        """Check that the service's quotas allow `workers` workers.

        Raises:
            ServiceError: a quota is too small for them.
        """
        name, quotas = self.options.namespace, self.options.quotas
        if workers > quotas.workers:
            raise ServiceError(
                f"service {name} would have {workers} workers, "
                f"and its quota is {format_count(quotas.workers, 'worker')}"
            )
        needed = workers * self.connections
        if needed > quotas.connections:
            raise ServiceError(
                f"service {name} needs {format_count(needed, 'connection')} for data for "
                f"{format_count(workers, 'worker')}, and its quota is "
                f"{format_count(quotas.connections, 'connection')}",
                "fewer cores or ports take fewer connections",
            )

    def _free(self, wanted: int | None, most: int) -> int:
        taken = self._present.keys() | self._absent.keys()
        free = (number for number in range(most) if number not in taken)
        number = next(free, None) if wanted is None else wanted
        if number is None or number in taken or number >= most:
            raise ServiceError(
                f"service {self.options.namespace} has its {len(taken)} workers",
                "plink hub status shows who is there",
            )
        return number

    def _incarnation(self, join: Join) -> int:
        return join.incarnation or self._next_incarnation()

    def _next_incarnation(self) -> int:
        self._incarnations = self._incarnations % _MOST_INCARNATION + 1
        return self._incarnations
