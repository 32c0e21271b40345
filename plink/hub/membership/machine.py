"""Who contributes to what, decided: a service's workers come, push, are lost, come back and leave.

It gathers as many workers as the service was made for, then iterations begin. When all have left,
it gathers again. A loss follows the service's policy: `fail` ends it, `wait` gives the worker some
time, `shrink` goes on without it. Before the first iteration a loss only frees the seat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plink.hub.membership.actions import (
    Action,
    Drop,
    End,
    Fail,
    PushAgain,
    Refuse,
    Seat,
    Source,
    WaitUntil,
)
from plink.hub.membership.clocks import Clocks
from plink.hub.membership.events import (
    Delete,
    Event,
    Initialised,
    Left,
    Lost,
    Pushed,
    Request,
    Tick,
)
from plink.hub.membership.rounds import Rounds
from plink.hub.service import ServiceOptions

INCARNATIONS = 1 << 16


@dataclass
class _Member:
    incarnation: int
    # Contributes or is about to: it has been admitted.
    is_admitted: bool = False
    is_ready: bool = False
    # While it is lost and waited for.
    until_s: float | None = None
    # The iteration that it has begun, where it has come back with its gradients.
    began: int | None = None
    # Where it has come back without them, the iteration of which an earlier process may have pushed
    # a part that counts.
    mixed: int | None = None


class Membership:
    """The workers of one service.

    Args:
        options: of the service.
        iteration: the first; more than 0 after a snapshot is restored.
        has_values: whether the service has values already.
    """

    def __init__(
        self, options: ServiceOptions, iteration: int = 0, *, has_values: bool = False
    ) -> None:
        self._options = options
        self._members: dict[int, _Member] = {}
        self._incarnations: dict[int, int] = {}
        self._has_values = has_values
        self._source: int | None = None
        self._is_gathering = True
        self._over = ""
        self._rounds = Rounds(iteration, by_step=options.commit == "step")
        staleness = options.staleness if options.mode == "ssp" else None
        self._clocks = Clocks(iteration, staleness)

    @property
    def is_sync(self) -> bool:
        """Whether iterations are of all workers."""
        return self._options.mode == "sync"

    @property
    def iteration(self) -> int:
        """In progress; in async and ssp that of the slowest worker."""
        return self._rounds.iteration if self.is_sync else self._clocks.iteration

    @property
    def workers(self) -> tuple[int, ...]:
        """Those that have a seat, lost ones that are waited for included."""
        return tuple(sorted(self._members))

    @property
    def is_over(self) -> bool:
        """Whether the service has failed or is deleted."""
        return bool(self._over)

    def handle(self, event: Event) -> list[Action]:
        """What follows from an event."""
        if self._over and not isinstance(event, Request):
            return []
        handlers: dict[type[Any], Callable[[Any], list[Action]]] = {
            Request: self._request,
            Initialised: self._initialised,
            Pushed: self._pushed,
            Lost: self._lost,
            Left: self._left,
            Tick: self._tick,
            Delete: self._delete,
        }
        return handlers[type(event)](event)

    def _delete(self, _: Delete) -> list[Action]:
        self._over = "the service is deleted"
        return [*self._drop_all(self._over), End(self._over)]

    def _request(self, event: Request) -> list[Action]:
        if self._over:
            return [Refuse(event.token, self._over)]
        if event.worker is not None:
            return self._come_back(event, event.worker)
        most = self._options.workers if self._is_gathering else self._options.quotas.workers
        if len(self._members) >= most:
            return [Refuse(event.token, f"all {most} places for workers are taken")]
        # A number whose contribution to a told iteration is still to be counted is not free.
        taken = self._members.keys() | self._rounds.told_workers
        worker = next(number for number in range(INCARNATIONS) if number not in taken)
        member = self._seated(worker)
        self._members[worker] = member
        is_source = not self._has_values and self._source is None
        if is_source:
            self._source = worker
        return [Seat(event.token, worker, member.incarnation, is_source)]

    def _seated(self, worker: int) -> _Member:
        incarnation = (self._incarnations.get(worker, -1) + 1) % INCARNATIONS
        self._incarnations[worker] = incarnation
        return _Member(incarnation)

    def _come_back(self, event: Request, worker: int) -> list[Action]:
        member = self._members.get(worker)
        if member is None or member.until_s is None or member.incarnation != event.incarnation:
            return [
                Refuse(
                    event.token,
                    f"worker {worker} is not waited for",
                    "join as a new worker",
                )
            ]
        began = event.iteration
        if began is not None and not self._can_go_on(worker, began):
            return [
                Refuse(
                    event.token,
                    f"worker {worker} is in iteration {began} and the service in {self.iteration}",
                    "join without what was begun",
                )
            ]
        back = self._seated(worker)
        back.is_admitted, back.until_s = True, member.until_s
        back.began = began
        self._members[worker] = back
        return [Seat(event.token, worker, back.incarnation)]

    def _can_go_on(self, worker: int, began: int) -> bool:
        if self.is_sync:
            # What is known here may be an iteration behind what the chunks have.
            return self._rounds.iteration - 1 <= began <= self._rounds.first_untold
        return self._clocks.completed(worker) - 1 <= began <= self._clocks.completed(worker)

    def _initialised(self, event: Initialised) -> list[Action]:
        worker = event.worker
        member = self._members.get(worker)
        if member is None or member.is_ready:
            return []
        member.is_ready = True
        if worker == self._source:
            self._has_values = True
        if member.is_admitted:
            return self._resume(worker, member)
        if self._is_gathering:
            return self._gather()
        member.is_admitted = True
        return self._rounds.admit(worker) if self.is_sync else self._clocks.admit(worker)

    def _gather(self) -> list[Action]:
        ready = [worker for worker, member in self._members.items() if member.is_ready]
        if len(ready) < self._options.workers:
            return []
        self._is_gathering = False
        for worker in ready:
            self._members[worker].is_admitted = True
        if self.is_sync:
            return self._rounds.start(ready)
        return [action for worker in sorted(ready) for action in self._clocks.admit(worker)]

    def _resume(self, worker: int, member: _Member) -> list[Action]:
        member.until_s = None
        if not self.is_sync:
            again = self._clocks.completed(worker)
            actions = self._clocks.admit(worker)
            return [*actions, PushAgain(worker, again)] if member.began == again else actions
        if member.began is None and self._options.commit == "stream":
            member.mixed = self._rounds.due(worker)
        return self._rounds.resume(worker, member.began, self._members)

    def _pushed(self, event: Pushed) -> list[Action]:
        if self.is_sync:
            actions = self._rounds.pushed(event.worker, event.iteration, event.revision)
            return actions + self._settle()
        return self._clocks.pushed(event.worker, event.iteration)

    def _lost(self, event: Lost) -> list[Action]:
        member = self._members.get(event.worker)
        if member is None or member.incarnation != event.incarnation:
            return []
        if not member.is_admitted:
            return self._free(event.worker, f"worker {event.worker} is lost: {event.why}")
        sentence = f"worker {event.worker} is lost in iteration {self.iteration}: {event.why}"
        if self._options.on_loss == "fail":
            return self._fail(sentence)
        if self._options.on_loss == "shrink":
            return self._shrink(event.worker, sentence)
        member.is_ready = False
        if member.until_s is None:
            member.until_s = event.now_s + self._options.grace_s
        return [WaitUntil(event.worker, member.until_s)]

    def _shrink(self, worker: int, sentence: str) -> list[Action]:
        actions = self._free(worker, sentence)
        if not self.is_sync:
            return [*actions, *self._clocks.remove(worker), *self._settle()]
        return [*actions, *self._rounds.lose(worker, self._members), *self._settle()]

    def _left(self, event: Left) -> list[Action]:
        member = self._members.get(event.worker)
        if member is None:
            return []
        actions = self._free(event.worker, f"worker {event.worker} has left")
        if not member.is_admitted:
            return actions
        if not self.is_sync:
            return [*actions, *self._clocks.remove(event.worker), *self._settle()]
        if member.mixed is not None and event.iteration <= member.mixed:
            return self._fail(
                f"worker {event.worker} has left in the middle of iteration {event.iteration}"
            )
        return [*actions, *self._rounds.leave(event.worker, event.iteration), *self._settle()]

    def _tick(self, event: Tick) -> list[Action]:
        for worker, member in self._members.items():
            if member.until_s is not None and event.now_s >= member.until_s:
                return self._fail(
                    f"worker {worker} is lost in iteration {self.iteration} and did not come back "
                    f"in {self._options.grace_s:g} s"
                )
        return []

    def _free(self, worker: int, sentence: str) -> list[Action]:
        member = self._members.pop(worker)
        actions: list[Action] = [Drop(worker, member.incarnation, sentence)]
        if worker == self._source:
            self._source = None
            waiting = sorted(self._members)
            if not self._has_values and waiting:
                self._source = waiting[0]
                # It had been told to take values, and has to send them before it is ready.
                self._members[waiting[0]].is_ready = False
                actions.append(Source(waiting[0]))
        return actions

    def _settle(self) -> list[Action]:
        """Gather again when nobody contributes any more."""
        is_running = self._rounds.is_running if self.is_sync else bool(self._members)
        if self._is_gathering or is_running or self._over:
            return []
        self._is_gathering = True
        return self._gather()

    def _fail(self, sentence: str) -> list[Action]:
        self._over = sentence
        return [Fail(sentence), *self._drop_all(sentence)]

    def _drop_all(self, sentence: str) -> list[Action]:
        actions: list[Action] = [
            Drop(worker, member.incarnation, sentence)
            for worker, member in sorted(self._members.items())
        ]
        self._members = {}
        return actions
