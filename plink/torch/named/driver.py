"""Thread that runs a negotiation machine beside a rank's engine."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from plink.base.errors import PlinkError
from plink.training.control.actions import Action, FailAll, Send, SleepUntil, Warn
from plink.training.control.events import Event, Heard, Left, Lost, Ticked

_LOG = logging.getLogger("plink.torch.named")
# Nothing has to be looked at so seldom.
_LONGEST_SLEEP_S = 3600.0


class Machine(Protocol):
    """State machine of a rank, which turns events into actions such as starting collectives."""

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """Process events and return the actions that follow from them."""


class Channel(Protocol):
    """Channel for messages to the machines of other ranks."""

    def post_letter(self, rank: int, letter: bytes) -> None:
        """Send a message to a rank's machine."""

    def letters(self, timeout_s: float) -> list[tuple[int, bytes | None]]:
        """Return received messages; None stands for a peer that has closed."""

    def wake_letters(self) -> None:
        """Make `letters` return at once."""


class Driver:
    """Thread that runs a machine until `close`, also after the engine has failed.

    Args:
        machine: of this rank.
        channel: to the others.
        do: what the machine wants beyond messages, sleep and warnings; called in this thread.
    """

    def __init__(self, machine: Machine, channel: Channel, do: Callable[[Action], None]) -> None:
        self._machine = machine
        self._channel = channel
        self._do = do
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._is_closed = False
        self._has_failed = False
        self._wakes_s = math.inf
        # While it sleeps, a machine with cycles hears nothing.
        self._is_asleep = False
        self._closing = threading.Event()
        # A daemon: a process that fails must not wait for the network at its end.
        self._thread = threading.Thread(target=self._run, name="plink-control", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        """Pass an event of this rank to the machine."""
        with self._lock:
            self._events.append(event)
        self._channel.wake_letters()

    def close(self, text: str) -> None:
        """End the thread; pending collectives fail with `text`."""
        with self._lock:
            self._events.append(Lost(text))
            self._is_closed = True
        self._closing.set()
        self._channel.wake_letters()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def sleep(self, seconds: float) -> None:
        """Sleep for some seconds, or until `close`."""
        self._closing.wait(seconds)

    def _run(self) -> None:
        events: list[Event] = []
        while True:
            with self._lock:
                events += self._events
                self._events = []
                is_closed = self._is_closed
            now_s = time.monotonic()
            if now_s >= self._wakes_s:
                self._wakes_s = math.inf
                self._is_asleep = False
                events.append(Ticked())
            for action in self._machine.step(events, now_s):
                self._act(action)
            if is_closed:
                return
            events = self._await()

    def _await(self) -> list[Event]:
        """Wait for messages of other ranks, or until the machine must wake; return events."""
        if self._has_failed:
            return self._await_own()
        left_s = self._wakes_s - time.monotonic()
        if self._is_asleep and left_s > 0.0:
            self.sleep(left_s)
            left_s = 0.0
        try:
            come = self._channel.letters(min(max(left_s, 0.0), _LONGEST_SLEEP_S))
        except PlinkError as error:
            self._has_failed = True
            return [Lost(str(error))]
        return [
            Left(rank, f"rank {rank} closed its engine") if letter is None else Heard(rank, letter)
            for rank, letter in come
        ]

    def _await_own(self) -> list[Event]:
        """Wait for events of this rank's program, as the engine brings nothing more."""
        while True:
            with self._lock:
                if self._events:
                    return []
            time.sleep(0.01)

    def _act(self, action: Action) -> None:
        if isinstance(action, Send):
            self._channel.post_letter(action.rank, action.message)
        elif isinstance(action, SleepUntil):
            self._wakes_s = action.at_s
            self._is_asleep = not action.wakes_on_message
        elif isinstance(action, Warn):
            _LOG.warning("%s", action.text)
        else:
            if isinstance(action, FailAll):
                self._wakes_s = math.inf
                self._is_asleep = False
            self._do(action)
