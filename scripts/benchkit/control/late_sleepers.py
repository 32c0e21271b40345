"""Control threads that sleep too long, or spin where others block, and what is noted of them."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from plink.torch.named import negotiation, running
from plink.torch.named.driver import Driver, Machine
from plink.torch.named.native_driver import NativeDriver
from plink.training.control.actions import Action
from plink.training.control.events import Event

# How much longer than asked a sleep lasts, by how many there were on this rank.
Late = Callable[[int], float]


def often(seed: str, share: float, late_s: float) -> Late:
    """So large a share of all sleeps, by chance."""
    drawn = random.Random(seed)
    return lambda _: late_s if drawn.random() < share else 0.0


def once(sleep: int, late_s: float) -> Late:
    """One sleep."""
    return lambda number: late_s if number == sleep else 0.0


def never(_: int) -> float:
    """No sleep."""
    return 0.0


@dataclass
class Notes:
    """Of one control thread.

    Args:
        begins_s: of each cycle, from the first on.
        late: cycles that a late sleep came before, by their place in `begins_s`.
        is_measured: from here on sleeps are late.
        slept: how often, since then.
        python_s: of the processor, when a thread in Python last woke.
        native: what runs instead of it.
    """

    begins_s: list[float] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    is_measured: bool = False
    slept: int = 0
    python_s: float = 0.0
    native: NativeDriver | None = None

    @property
    def thread_s(self) -> float:
        """Of the processor, so far."""
        return self.python_s if self.native is None else self.native.busy_s


class _Noted:
    """A machine that notes when it begins a cycle."""

    def __init__(self, machine: Any, notes: Notes) -> None:
        self._machine = machine
        self._notes = notes

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """As the machine does."""
        actions: list[Action] = self._machine.step(events, now_s)
        # That of a tree has no cycles.
        if getattr(self._machine, "cycles", 0) > len(self._notes.begins_s):
            self._notes.begins_s.append(now_s)
        self._notes.python_s = time.thread_time()
        return actions


class _Channel:
    """An engine's letters, for a thread that may wake late, or spins.

    Args:
        engine: whose.
        late: asked where a wait ends by the clock.
        spins: where it would block.
    """

    def __init__(self, engine: Any, late: Callable[[], float], *, spins: bool) -> None:
        self._engine = engine
        self._late = late
        self._spins = spins
        self._woken = threading.Event()

    def post_letter(self, rank: int, letter: bytes) -> None:
        """As the engine does."""
        self._engine.post_letter(rank, letter)

    def wake_letters(self) -> None:
        """As the engine does."""
        self._woken.set()
        self._engine.wake_letters()

    def letters(self, timeout_s: float) -> list[tuple[int, bytes | None]]:
        """As the engine does, later."""
        until_s = time.monotonic() + timeout_s
        come: list[tuple[int, bytes | None]] = self._engine.letters(0 if self._spins else timeout_s)
        while self._spins and not come and not self._woken.is_set() and time.monotonic() < until_s:
            come = self._engine.letters(0)
        is_by_clock = timeout_s > 0.0 and not come and not self._woken.is_set()
        self._woken.clear()
        if is_by_clock:
            time.sleep(self._late())
        return come


class LateDriver(Driver):
    """Runs a machine whose sleeps last longer than it wants.

    Args:
        machine: of this rank.
        engine: whose letters it takes.
        do: as of `Driver`.
        late: by how much.
        spins: where it would block.
        notes: are written.
    """

    def __init__(
        self,
        machine: Machine,
        engine: Any,
        do: Callable[[Action], None],
        *,
        late: Late,
        spins: bool,
        notes: Notes,
    ) -> None:
        self._late, self._notes = late, notes
        super().__init__(
            _Noted(machine, notes), _Channel(engine, self._next_late_s, spins=spins), do
        )

    def sleep(self, seconds: float) -> None:
        """As a driver does, and then some."""
        super().sleep(seconds + self._next_late_s())

    def _next_late_s(self) -> float:
        notes = self._notes
        notes.slept += notes.is_measured
        if notes.is_measured and (late_s := self._late(notes.slept)):
            notes.late.append(len(notes.begins_s))
            return late_s
        return 0.0


@contextmanager
def late_sleepers(late: Late, *, spins: bool = False, is_native: bool = False) -> Iterator[Notes]:
    """Groups that are made within have such threads, with machines in Python; or native ones, which
    nothing is done to, as they are.
    """
    notes = Notes()
    machines = "native" if is_native else "python"

    def driver_of(
        machine: Machine, engine: Any, do: Callable[[Action], None]
    ) -> Driver | NativeDriver:
        if is_native:
            notes.native = NativeDriver(machine, engine, do)  # type: ignore[arg-type]
            return notes.native
        return LateDriver(machine, engine, do, late=late, spins=spins, notes=notes)

    with (
        mock.patch.dict(os.environ, {running.CONTROL_VARIABLE: machines}),
        mock.patch.object(negotiation, "driver_of", driver_of),
    ):
        yield notes
