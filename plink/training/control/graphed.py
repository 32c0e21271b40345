"""Agreement by the graph of the computation alone: without messages, cycles or a cache."""

from __future__ import annotations

import math
from collections.abc import Sequence

from plink.training.control.actions import (
    Action,
    Batch,
    FailAll,
    RefuseHere,
    Release,
    SleepUntil,
    Warn,
)
from plink.training.control.alarms import Alarms
from plink.training.control.events import Announced, Event, Joined, Left, Lost
from plink.training.control.graph import Order
from plink.training.control.requests import Request
from plink.training.control.settings import Settings


class Graphed:
    """The machine of one rank, for a graph that does not change.

    Each buffer has a slot for each of its all-reduces; it is released when all are filled and all
    before it are released. After the last the first follows again.

    Args:
        order: of the graph; ranks have compared its digest.
        settings: the same on all ranks.
    """

    def __init__(self, order: Order, settings: Settings) -> None:
        self._order = order
        self._numbers = {request.name: i for i, request in enumerate(order.requests)}
        self._buffer_of: list[int] = []
        for i, (first, end) in enumerate(order.buffers):
            self._buffer_of += [i] * (end - first)
        self._filled = [False] * len(order.requests)
        self._missing = [end - first for first, end in order.buffers]
        self._next = 0
        self._alarms = Alarms(settings.stall_warning_s, None)
        self._warning_s = settings.stall_warning_s
        self._failed = ""
        self._wakes_s = math.inf

    @property
    def digest(self) -> int:
        """Of the order."""
        return self._order.digest

    @property
    def messages_taken(self) -> int:
        """There are none."""
        return 0

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """What is to be done after these events, in this order.

        Args:
            events: in the order in which they came.
            now_s: on a clock that does not go back.
        """
        actions: list[Action] = []
        for event in events:
            if isinstance(event, Announced):
                actions += self._announce(event.requests, now_s)
            elif isinstance(event, Joined):
                text = "a rank cannot join where the graph decides what is reduced"
                actions.append(RefuseHere((), self._failed or text))
            elif isinstance(event, Lost | Left) and not self._failed:
                self._failed = event.text
                self._alarms.clear()
                actions.append(FailAll(event.text))
        actions += [Warn(self._waiting(name)) for name in self._alarms.due(now_s)]
        if self._alarms.next_s != self._wakes_s:
            self._wakes_s = self._alarms.next_s
            actions.append(SleepUntil(self._wakes_s))
        return actions

    def _announce(self, requests: tuple[Request, ...], now_s: float) -> list[Action]:
        names = tuple(request.name for request in requests)
        problem = self._failed or self._problem(requests)
        if problem:
            return [RefuseHere(names, problem)]
        for name in names:
            number = self._numbers[name]
            self._filled[number] = True
            self._missing[self._buffer_of[number]] -= 1
            self._alarms.add(name, now_s)
        batches: list[Batch] = []
        while self._order.buffers and not self._missing[self._next]:
            batches.append(self._take())
        return [Release(tuple(batches))] if batches else []

    def _problem(self, requests: tuple[Request, ...]) -> str:
        taken: set[str] = set()
        for request in requests:
            number = self._numbers.get(request.name)
            if number is None:
                return f"'{request.name}' is not in the graph of the first iteration"
            if self._filled[number] or request.name in taken:
                return f"'{request.name}' is pending already"
            known = self._order.requests[number]
            if known != request:
                return (
                    f"'{request.name}' is {request.described()}, "
                    f"and was {known.described()} in the first iteration"
                )
            taken.add(request.name)
        return ""

    def _take(self) -> Batch:
        first, end = self._order.buffers[self._next]
        for number in range(first, end):
            self._filled[number] = False
            self._alarms.remove(self._order.requests[number].name)
        self._missing[self._next] = end - first
        self._next = (self._next + 1) % len(self._order.buffers)
        return Batch(self._order.requests[first:end])

    def _waiting(self, name: str) -> str:
        first, end = self._order.buffers[self._next]
        missing = next(number for number in range(first, end) if not self._filled[number])
        return (
            f"'{name}' has waited {self._warning_s:g} s or more; this rank has not announced "
            f"'{self._order.requests[missing].name}', which comes before it"
        )
