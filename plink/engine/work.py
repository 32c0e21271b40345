"""One collective under way."""

from __future__ import annotations

from typing import Protocol

import plink.engine._native as core
from plink.engine.failure import EngineError

_FOREVER = float("inf")


class _Failable(Protocol):
    def check(self) -> None: ...


class Work:
    """Made by an engine's collectives. Its arrays must not be touched before it has ended."""

    __slots__ = ("_engine", "_native")

    def __init__(self, native: core.Work, engine: _Failable) -> None:
        self._native = native
        self._engine = engine

    @property
    def number(self) -> int:
        """The collective's number: 0 for the engine's first."""
        return self._native.number

    @property
    def peer(self) -> int | None:
        """At the other end of a message; None for a collective, and while nobody knows."""
        return self._native.peer if self._native.peer >= 0 else None

    @property
    def posted_s(self) -> float:
        """When it was called, as `time.monotonic` says it."""
        return self._native.times[0]

    @property
    def begun_s(self) -> float | None:
        """When a worker took it up; None before that."""
        return self._native.times[1]

    @property
    def ended_s(self) -> float | None:
        """When it ended, well or not; None before that."""
        return self._native.times[2]

    def done(self) -> bool:
        """Whether it has ended, well or not; `wait` then returns or raises at once."""
        return self._native.is_over

    def wait(self, timeout_s: float | None = None) -> None:
        """Returns when the array holds the result. Ctrl-C interrupts it, not the collective.

        Raises:
            EngineError: the engine failed; it names the culprit.
            TimeoutError: not within `timeout_s`. The collective goes on.
        """
        is_done = self._native.wait(_FOREVER if timeout_s is None else timeout_s)
        if is_done:
            return
        if is_done is None:
            raise TimeoutError(f"collective {self.number} has not ended within {timeout_s:g} s")
        self._engine.check()
        raise EngineError(f"collective {self.number} was not completed")
