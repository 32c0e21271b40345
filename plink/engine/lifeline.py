"""Detection of whether other processes live, by connections to them.

Engines know of each other's end only while they are connected. Between two engines a process is
called at its line: one that has ended is known at once by the kernel's answer, one that is stopped
or cut off by its silence.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import ipaddress
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct

from plink.engine.addresses import listening

# The longest time between two beats, and the shortest: they cost a thread of each process.
_BEAT_S = 1.0
_LEAST_BEAT_S = 0.01
# Beats may be late, or be lost, before a process counts as silent.
_BEATS_WITHIN_SILENCE = 4
_PAUSE_S = 0.02
_TOKEN_BYTES = 8
# What this process holds for callers; the oldest goes first.
_MOST_CALLERS = 4096
_NOBODY_LISTENS = (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE)


class Address(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Address at which a process shows that it lives.

    Attributes:
        host: a numeric address
        port: TCP port
        token: what it says first, in hexadecimal digits; another process there says another
    """

    host: str
    port: Annotated[int, Meta(ge=1, le=65_535)]
    token: Annotated[str, Meta(pattern=rf"^[0-9a-f]{{{2 * _TOKEN_BYTES}}}$(?!\n)")]

    def __post_init__(self) -> None:
        ipaddress.ip_address(self.host)


class LifeLine:
    """Thread that shows callers that this process lives, until `close` or the process's end.

    Args:
        address: a numeric one of this host.
        silence_s: seconds without a word after which callers take a process for a silent one.

    Raises:
        EngineError: the address is not this host's.
    """

    def __init__(self, address: str, silence_s: float) -> None:
        self._beat_s = max(_LEAST_BEAT_S, min(_BEAT_S, silence_s / _BEATS_WITHIN_SILENCE))
        self._listener = listening(address, 0, None)
        token = secrets.token_bytes(_TOKEN_BYTES)
        self.address = Address(address, self._listener.getsockname()[1], token.hex())
        self._token = token
        self._end, self._told = socket.socketpair()
        self._callers: dict[socket.socket, None] = {}
        self._thread = threading.Thread(target=self._run, name="plink-lifeline", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering, so that callers take this process for one that has ended."""
        with contextlib.suppress(OSError):
            self._end.close()
        self._thread.join()

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector, self._listener, self._told:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._told, selectors.EVENT_READ)
            beat_at = 0.0
            while True:
                wait_s = max(0.0, beat_at - time.monotonic()) if self._callers else None
                ready = {key.fileobj for key, _ in selector.select(wait_s)}
                if self._told in ready:
                    break
                if self._listener in ready:
                    self._accept()
                if time.monotonic() >= beat_at:
                    for caller in list(self._callers):
                        self._say(caller, b".")
                    beat_at = time.monotonic() + self._beat_s
            for caller in self._callers:
                caller.close()

    def _accept(self) -> None:
        try:
            caller, _ = self._listener.accept()
        except OSError:
            # It hung up, or there are no descriptors left for now.
            time.sleep(_PAUSE_S)
            return
        caller.setblocking(False)
        if len(self._callers) >= _MOST_CALLERS:
            self._drop(next(iter(self._callers)))
        self._callers[caller] = None
        self._say(caller, self._token)

    def _say(self, caller: socket.socket, words: bytes) -> None:
        try:
            caller.send(words)
        except OSError:
            self._drop(caller)

    def _drop(self, caller: socket.socket) -> None:
        del self._callers[caller]
        caller.close()


class Life(enum.Enum):
    """State of a process, as far as it is known."""

    UNKNOWN = enum.auto()
    ALIVE = enum.auto()
    # Its kernel says so.
    ENDED = enum.auto()
    # Stopped, cut off, or its host has failed.
    SILENT = enum.auto()


class _Call:
    """Connection to another process's life line, and what it has told so far."""

    def __init__(self, address: Address, now: float) -> None:
        self._address = address
        self._heard = b""
        self._heard_at = now
        self._socket: socket.socket | None = None
        self._life = Life.UNKNOWN

    def poll(self, now: float, silence_s: float) -> Life:
        """Advance the call without waiting and return the state of the process."""
        if self._life is Life.ENDED:
            return self._life
        try:
            self._listen(now)
        except OSError as error:
            self._fail(error)
        return self._judge(now - self._heard_at > silence_s)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _listen(self, now: float) -> None:
        if self._socket is None:
            family = socket.AF_INET6 if ":" in self._address.host else socket.AF_INET
            self._socket = socket.socket(family)
            self._socket.setblocking(False)
            self._heard = b""
            self._socket.connect((self._address.host, self._address.port))
        words = self._socket.recv(4096)
        if not words:
            raise ConnectionResetError(errno.ECONNRESET, "")
        self._heard = (self._heard + words)[:_TOKEN_BYTES]
        self._heard_at = now
        if len(self._heard) == _TOKEN_BYTES:
            is_right = self._heard.hex() == self._address.token
            self._life = Life.ALIVE if is_right else Life.ENDED

    def _judge(self, is_silent: bool) -> Life:
        if is_silent and self._life is not Life.ENDED:
            self._life = Life.SILENT
        return self._life

    def _fail(self, error: OSError) -> None:
        if isinstance(error, BlockingIOError) or error.errno == errno.ENOTCONN:
            return
        self.close()
        if error.errno in _NOBODY_LISTENS:
            self._life = Life.ENDED


class Watch:
    """Monitor of other processes, which connects to each when first asked about it.

    Args:
        silence_s: after so long without a word from it a process is `SILENT`.
    """

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s
        self._calls: dict[Address, _Call] = {}

    def life(self, address: Address) -> Life:
        """Return the known state of a process without waiting; ask again later."""
        now = time.monotonic()
        if address not in self._calls:
            self._calls[address] = _Call(address, now)
        return self._calls[address].poll(now, self._silence_s)

    def settled(self, addresses: Iterable[Address], timeout_s: float) -> None:
        """Wait until none of the processes is `UNKNOWN`, at most `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        asked = list(addresses)
        pause_s = 0.0005
        while any(self.life(one) is Life.UNKNOWN for one in asked):
            if time.monotonic() > deadline:
                return
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_S)

    def close(self) -> None:
        """Close all connections and forget what was known of the processes."""
        for call in self._calls.values():
            call.close()
        self._calls.clear()
