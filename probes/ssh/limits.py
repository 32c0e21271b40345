"""Limits for hosts that do not answer, do not read or never stop sending.

paramiko waits without limit for an answer and for room to send, and keeps all that a host writes.
"""

from __future__ import annotations

import threading

import paramiko
from paramiko.buffered_pipe import BufferedPipe

# A close says goodbye to the server, which cannot be sent where the connection takes nothing.
_GOODBYE_S = 2.0


class ChannelTimeout:
    """Timeout that closes a channel and, if that does not help, its connection.

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

    def __enter__(self) -> ChannelTimeout:
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
        """Append data that arrived, dropping the oldest beyond the limit."""
        super().feed(data)
        surplus = len(self) - self._most_bytes
        if surplus > 0:
            self.read(surplus)
