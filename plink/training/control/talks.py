"""The machines of `tree` that decide while no graph does, one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from plink.training.control.actions import Action, Send, SleepUntil
from plink.training.control.events import Event, Heard
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
        self._at_s = -math.inf
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
        """Queue messages for the next machine, which does not run before `start`."""
        self.number += 1
        self._events = []

    def start(self) -> list[Event]:
        """Start the next machine; return the messages that came for it, which it has not heard."""
        self._inner = self._make()
        events, self._events = self._events, []
        return events

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

    def run(self, at_s: float) -> list[Action]:
        """Return the machine's actions, with messages as they are to be sent.

        Args:
            at_s: its time; one that is before what it knows counts as that. So it is not told of
                any time until something happens.
        """
        if self._inner is None or not (self._events or at_s >= self.wakes_s):
            return []
        events, self._events = self._events, []
        self._at_s = max(self._at_s, at_s)
        actions: list[Action] = []
        for action in self._inner.step(events, self._at_s):
            if isinstance(action, Send):
                actions.append(Send(action.rank, pack(Talk(self.number, action.message))))
            elif isinstance(action, SleepUntil):
                self._wakes_s = action.at_s
            else:
                actions.append(action)
        return actions
