"""More callers than a server lets wait."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

HOST = "127.0.0.1"
_TIMEOUT_S = 60.0
# Those connections of the others come from addresses of their own.
_OTHERS = 250
# Fewer than a process may have open.
_HELD = 700
# Those who came first stay.
_KEPT = 300


@contextlib.contextmanager
def flood(port: int, say: Callable[[socket.socket], None]) -> Iterator[list[socket.socket]]:
    """1,000 connections from one address, then one from each of many others."""
    held: list[socket.socket] = []
    sources = ["127.0.0.2"] * 1000 + [f"127.0.1.{1 + n % 250}" for n in range(_OTHERS)]
    try:
        for source in sources:
            held.append(socket.create_connection((HOST, port), _TIMEOUT_S, (source, 0)))
            with contextlib.suppress(OSError):
                say(held[-1])
            if len(held) > _HELD:
                held.pop(_KEPT).close()
        yield held
    finally:
        for each in held:
            each.close()


def silent(_: socket.socket) -> None:
    pass
