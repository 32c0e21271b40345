"""Time limit on writes to hosts that do not read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK_EVERY_S = 0.5


class StallGuard:
    """Watchdog thread for one thread's blocking writes.

    Args:
        limit_s: how long a write may take.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._current: tuple[float, Callable[[], None]] | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @contextmanager
    def guard(self, abandon: Callable[[], None]) -> Iterator[None]:
        """Watch a write; after the time limit call `abandon`, which must make it fail."""
        with self._lock:
            self._current = (time.monotonic() + self._limit_s, abandon)
        try:
            yield
        finally:
            with self._lock:
                self._current = None

    def stop(self) -> None:
        """Stop the watchdog."""
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(min(_LOOK_EVERY_S, self._limit_s)):
            with self._lock:
                current, now = self._current, time.monotonic()
                if current is None or now < current[0]:
                    continue
                self._current = None
            current[1]()
