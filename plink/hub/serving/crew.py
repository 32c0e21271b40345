"""Who contributes at one server: seats given, lost, waited for, given up. It knows no sockets.

Lanes go on by themselves as long as nobody comes or goes; only then are they told something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from plink.base.errors import PlinkError
from plink.base.text import counted
from plink.hub.service import ServiceOptions
from plink.hub.serving.lanes import Lanes
from plink.hub.session.messages import Join

_MOST_INCARNATION = 0xFFFF
# A new worker takes part so many iterations later at first: lanes go on while they are told.
_AHEAD = 2
_MOST_AHEAD = 1 << 20


class ServiceError(PlinkError):
    """A service cannot do what a worker or a person asks for."""


@dataclass(frozen=True)
class Seat:
    """A place for a worker.

    Args:
        number, incarnation: its own.
        iteration: the first to which it contributes.
    """

    number: int
    incarnation: int
    iteration: int


@dataclass
class _Absent:
    """A worker that is waited for."""

    sentence: str
    alarm: asyncio.TimerHandle


@dataclass
class Crew:
    """The workers of a service.

    Args:
        options: of the service.
        lanes: of this server.
        fail: what to do when a worker that is waited for does not come.
        is_alone: whether the service has no other server.
        connections: for data, of each worker.
    """

    options: ServiceOptions
    lanes: Lanes
    fail: Callable[[str], None]
    is_alone: bool
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

    @property
    def workers(self) -> int:
        """How many contribute, or will once all are there."""
        if self._is_gathering:
            return self.options.workers
        return len(self._present) + len(self._absent)

    def begin_after(self, iteration: int) -> None:
        """Those who come first begin with the next one."""
        self._first = iteration + 1

    def seat(self, join: Join) -> Seat:
        """A place for whoever asks.

        Raises:
            ServiceError: there is none.
        """
        if join.is_back:
            seat = self._come_back(join)
        elif self._is_gathering:
            number = self._free(join.worker, self.options.workers)
            seat = Seat(number, self._incarnation(join), self._begin(number))
        elif self._absent:
            seat = self._take_over(join)
        else:
            seat = self._join_late(join)
        self._present[seat.number] = seat.incarnation
        self._since[seat.number] = seat.iteration
        if len(self._present) == self.options.workers:
            self._is_gathering = False
        return seat

    def lost(self, number: int, sentence: str) -> str | None:
        """A worker is gone without a word; what the service fails with, if it does."""
        del self._present[number]
        if self._is_gathering and self.lanes.iteration == 0:
            self.lanes.cut(number)
            return None
        if self.options.on_loss == "fail":
            return sentence
        self.lanes.cut(number)
        if self.options.on_loss == "wait":
            loop = asyncio.get_running_loop()
            alarm = loop.call_later(self.options.grace_s, self._give_up, number)
            self._absent[number] = _Absent(sentence, alarm)
            return None
        iteration = self.lanes.iteration
        self._drop(number, iteration + self.lanes.has_all_of(number, iteration))
        return None

    def left(self, number: int, iteration: int) -> None:
        """A worker is done after an iteration."""
        del self._present[number]
        if self.options.on_loss == "shrink":
            self._drop(number, iteration + 1)
        else:
            self.lanes.retire(number, f"worker {number} has left")
        self._gather_if_empty()

    def _drop(self, number: int, since: int) -> None:
        self._revision += 1
        self.lanes.drop(number, max(since, self._since[number]), self._revision)
        self._gather_if_empty()

    def _gather_if_empty(self) -> None:
        """Whoever comes now waits for as many others as the first ones did."""
        if not self._present and not self._absent:
            self._is_gathering = True
            if self.options.mode == "sync":
                self._used.clear()
            self.lanes.gather()
            if not self.lanes.is_even:
                self.fail("the last worker was lost when it had ended an iteration in part")
            self._first = self.lanes.iteration + 1

    def _give_up(self, number: int) -> None:
        absent = self._absent.pop(number, None)
        if absent is not None:
            self.fail(f"{absent.sentence}, and it did not come back in {self.options.grace_s:g} s")

    def _come_back(self, join: Join) -> Seat:
        number = join.worker
        if number is not None and self._present.get(number) == join.incarnation:
            # Its end has noticed first that a connection broke.
            failure = self.lost(number, f"worker {number} is lost")
            if failure is not None:
                raise ServiceError(failure)
        if number is None or number not in self._absent:
            raise ServiceError(f"worker {number} is not waited for", "join as a new worker")
        self._absent.pop(number).alarm.cancel()
        return Seat(number, join.incarnation % _MOST_INCARNATION + 1, self.lanes.iteration + 1)

    def _take_over(self, join: Join) -> Seat:
        """A new process in the place of one that is lost; what that has pushed counts."""
        number = min(self._absent) if join.worker is None else join.worker
        if number not in self._absent:
            raise ServiceError(f"worker {number} is not waited for")
        self._absent.pop(number).alarm.cancel()
        iteration = self.lanes.iteration
        is_done = self.options.mode != "sync" or self.lanes.has_all_of(number, iteration)
        return Seat(number, self._incarnation(join), max(1, iteration + is_done))

    def _begin(self, number: int) -> int:
        """Where a worker begins that comes while others may still be awaited."""
        is_first = number not in self._used
        self._used.add(number)
        if is_first or self.options.mode == "sync":
            return self._first
        # One that had its number has pushed, and left, before all were there.
        since = self.lanes.iteration + 1
        self.lanes.admit(number, since)
        return since

    def _join_late(self, join: Join) -> Seat:
        self.check_quotas(len(self._present) + len(self._absent) + 1)
        number = self._free(join.worker, self.options.quotas.workers)
        if not self.is_alone:
            raise ServiceError(
                f"service {self.options.namespace} is under way",
                "only one of a single server can be joined then",
            )
        ahead = _AHEAD if self.options.mode == "sync" else 1
        while ahead < _MOST_AHEAD:
            since = self.lanes.iteration + ahead
            if self.lanes.admit(number, since):
                return Seat(number, self._incarnation(join), since)
            ahead *= 2
        raise ServiceError("the service's iterations are too short to join them")

    def check_quotas(self, workers: int) -> None:
        """Whether there may be so many workers.

        Raises:
            ServiceError: a quota is too small for them.
        """
        name, quotas = self.options.namespace, self.options.quotas
        if workers > quotas.workers:
            raise ServiceError(
                f"service {name} would have {workers} workers, "
                f"and its quota is {counted(quotas.workers, 'worker')}"
            )
        needed = workers * self.connections
        if needed > quotas.connections:
            raise ServiceError(
                f"service {name} needs {counted(needed, 'connection')} for data for "
                f"{counted(workers, 'worker')}, and its quota is "
                f"{counted(quotas.connections, 'connection')}",
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
        self._incarnations = self._incarnations % _MOST_INCARNATION + 1
        return join.incarnation or self._incarnations
