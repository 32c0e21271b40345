"""The machines of `tree` that decide while no graph does, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from plink.training.control.actions import Action, Send, SleepUntil
from plink.training.control.events import AnswersHeld, Event, Heard
from plink.training.control.graph_messages import Talk, pack
from plink.training.control.wire import WireError


class Inner(Protocol):
    """A machine of `tree`."""

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """Process events and return the actions that follow."""


class Talks:
    """Numbered machines of one rank. Messages carry the number of the machine they are for.

    Args:
        make: makes one.
    """

    def __init__(self, make: Callable[[], Inner]) -> None:
        self._make = make
        self._inner: Inner | None = make()
        self._events: list[Event] = []
        self._wakes_s = math.inf
        self.number = 0

    @property
    def wakes_s(self) -> float:
        """Return when it has something to do; infinity for never."""
        return self._wakes_s

    @property
    def has_news(self) -> bool:
        """Whether something has happened that it has not heard."""
        return bool(self._events) and self._inner is not None

    @property
    def is_on(self) -> bool:
        """Whether there is a machine that hears."""
        return self._inner is not None

    def begin(self) -> None:
        """Begin the next machine, which relays messages and holds back this rank's answers."""
        self.number += 1
        self._inner = self._make()
        self._events = [AnswersHeld(is_held=True)]

    def end(self) -> None:
        """The present one decides nothing more."""
        self._inner = None
        self._events = []
        self._wakes_s = math.inf

    def tell(self, event: Event) -> None:
        """Queue an event, which the machine hears when it runs."""
        self._events.append(event)

    def hear(self, rank: int, talk: Talk) -> None:
        """A message of another rank's has come; what was for an earlier one is void.

        Raises:
            WireError: there is no such machine yet.
        """
        if talk.number > self.number:
            raise WireError("it is ahead of all")
        if talk.number == self.number:
            self._events.append(Heard(rank, talk.message))

    def run(self, now_s: float) -> list[Action]:
        """Return the machine's actions, with messages as they are to be sent.

        Args:
            now_s: the machine hears of the time only when something happens or is due.
        """
        if self._inner is None or not (self._events or now_s >= self.wakes_s):
            return []
        events, self._events = self._events, []
        actions: list[Action] = []
        for action in self._inner.step(events, now_s):
            if isinstance(action, Send):
                actions.append(Send(action.rank, pack(Talk(self.number, action.message))))
            elif isinstance(action, SleepUntil):
                self._wakes_s = action.at_s
            else:
                actions.append(action)
        return actions
