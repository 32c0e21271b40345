"""An end to waiting: paramiko waits without limit for an answer, and for room to send."""

from __future__ import annotations

import threading

import paramiko

# A close says goodbye to the server, which cannot be sent where the connection takes nothing.
_GOODBYE_S = 2.0


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
