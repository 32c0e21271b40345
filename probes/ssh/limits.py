"""Limits on a host that does not answer, takes nothing or never ends.

paramiko waits without limit for an answer and for room to send, and keeps all that a host writes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import paramiko
from paramiko.buffered_pipe import BufferedPipe

# A close says goodbye to the server, which cannot be sent where the connection takes nothing.
_GOODBYE_S = 2.0

_LOOK_EVERY_S = 0.5


class Deadline:
    """Closes a channel when its time is over, and soon after the connection if that did not help.

    A context manager around the calls that may wait; `passed` says whether the time was over.
    """

    def __init__(
        self, channel: paramiko.Channel, transport: paramiko.Transport, timeout_s: float
    ) -> None:
        self.passed = False
        self._channel = channel
        self._timers = (
            threading.Timer(max(0.0, timeout_s), self._expire),
            threading.Timer(max(0.0, timeout_s) + _GOODBYE_S, transport.close),
        )

    def __enter__(self) -> Deadline:
        for timer in self._timers:
            timer.daemon = True
            timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()

    def _expire(self) -> None:
        self.passed = True
        self._channel.close()


class TailPipe(BufferedPipe):  # type: ignore[type-arg]  # generic in the stubs alone
    """Keeps the last bytes only. What is dropped was never read, so that an honest server stops
    sending when its window is full; one that does not still fills no memory.

    Args:
        most_bytes: how many are kept.
    """

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self._most_bytes = most_bytes

    def feed(self, data: bytes | str) -> None:
        """Take what has arrived."""
        super().feed(data)
        surplus = len(self) - self._most_bytes
        if surplus > 0:
            self.read(surplus)


class StallGuard:
    """Watches what one thread writes, in a thread of its own: one for a run and not for a write.

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
    def guarded(self, abandon: Callable[[], None]) -> Iterator[None]:
        """A write; `abandon` is called if it takes too long, and must make it fail."""
        with self._lock:
            self._current = (time.monotonic() + self._limit_s, abandon)
        try:
            yield
        finally:
            with self._lock:
                self._current = None

    def stop(self) -> None:
        """Watch no longer."""
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
