"""Key-value store of a job without PyTorch, which rank 0 serves while the ranks meet.

A connection begins with `MAGIC`. A request is its kind (`S` set, `C` claim, `G` get), the length of
its key (2 bytes), of its value (4 bytes), the milliseconds that a get may wait (4 bytes), key and
value. An answer is the length of a value (4 bytes) and the value, or `ABSENT` alone.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from plink.base.errors import PlinkError
from plink.transport.listening import Acceptor, with_streams

MAGIC = b"plinkmeet\x01"
_REQUEST = struct.Struct(">cHII")
_LENGTH = struct.Struct(">I")
ABSENT = 0xFFFFFFFF

# Of anybody who reaches the port: it is open for as long as ranks meet.
_MOST_KEY_BYTES = 256
_MOST_VALUE_BYTES = 16 << 20
_MOST_BYTES = 256 << 20
# What a key takes besides its value.
_ENTRY_BYTES = 512
# Connections beside those of the ranks.
_MOST_STRANGERS = 64
_GREETING_S = 5.0

_LONGEST_WAIT_MS = 1 << 31
_RETRY_S = 0.1
_CONNECT_S = 10.0
# A process that is paused for a while is not lost.
_ANSWER_S = 30.0
# Seconds that rank 0 serves the others after it has decided, and ranks that it has not seen yet
# after it has refused: they are told why.
_LINGER_S = 10.0
_LATE_S = 3.0


class TcpStore:
    """Client of a job's key-value store, for one rank.

    Args:
        host: name or address of the host of rank 0.
        port: TCP port of the store there.
        timeout_s: seconds to wait for rank 0.

    Raises:
        PlinkError: no store answers there in time.
    """

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        self.host = host
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                left_s = max(0.1, deadline - time.monotonic())
                self._socket = _greet(host, port, min(left_s, _CONNECT_S))
                break
            except OSError as error:
                if time.monotonic() + _RETRY_S > deadline:
                    raise PlinkError(
                        f"no meeting place at {host} port {port} within {timeout_s:g} s: "
                        f"{error.strerror or error}",
                        "rank 0 opens it: has it started, on that host?",
                    ) from None
                time.sleep(_RETRY_S)

    def set(self, key: str, value: bytes) -> None:
        """Set a key's value.

        Raises:
            OSError: rank 0 is gone.
        """
        self._ask(b"S", key, value)

    def claim(self, key: str, value: bytes) -> bytes:
        """Set a key unless it has a value, and return the value that it has.

        Raises:
            OSError: rank 0 is gone.
        """
        return self._ask(b"C", key, value) or b""

    def get(self, key: str, timeout_s: float) -> bytes:
        """Return a key's value as soon as a rank has set it.

        Raises:
            TimeoutError: none did in time, or rank 0 is gone.
        """
        try:
            found = self._ask(b"G", key, b"", timeout_s)
        except OSError as error:
            raise TimeoutError(f"nobody set {key}: {error}") from None
        if found is None:
            raise TimeoutError(f"nobody set {key}")
        return found

    def close(self) -> None:
        """Close the connection to the store."""
        self._socket.close()

    def _ask(self, kind: bytes, key: str, value: bytes, wait_s: float = 0.0) -> bytes | None:
        name = key.encode()
        wait_ms = min(_LONGEST_WAIT_MS, max(0, int(1e3 * wait_s)))
        try:
            self._socket.settimeout(wait_s + _ANSWER_S)
            self._socket.sendall(_REQUEST.pack(kind, len(name), len(value), wait_ms) + name + value)
            (length,) = _LENGTH.unpack(self._received(_LENGTH.size))
            return None if length == ABSENT else self._received(length)
        except OSError:
            # A later request would take a late answer to this one for its own.
            self._socket.close()
            raise

    def _received(self, size_bytes: int) -> bytes:
        data = b""
        while len(data) < size_bytes:
            part = self._socket.recv(size_bytes - len(data))
            if not part:
                raise ConnectionResetError(errno.ECONNRESET, "rank 0 has hung up")
            data += part
        return data


def _greet(host: str, port: int, timeout_s: float) -> socket.socket:
    connection = socket.create_connection((host, port), timeout_s)
    try:
        if connection.getsockname() == connection.getpeername():
            # Where nothing listens on this host, the caller's own port may happen to be this one.
            # It is left free for rank 0 at once.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        connection.sendall(MAGIC)
    except OSError:
        connection.close()
        raise
    return connection


def join_served(host: str, port: int) -> TcpStore | None:
    """Connect to the store that a process serves at a host and port; None unless one answers."""
    try:
        store = TcpStore(host, port, _RETRY_S)
    except PlinkError:
        return None
    try:
        store.set("hello", b"")
    except OSError:
        store.close()
        return None
    return store


@contextmanager
def serve(port: int, ranks: int) -> Iterator[None]:
    """Serve the store of a job on all addresses of this host, until all have come and hung up.

    Args:
        port: TCP port.
        ranks: number of ranks that will connect.

    Raises:
        PlinkError: the port is taken.
    """
    server = _Server(ranks)
    listener = _listen(port)
    thread = threading.Thread(target=server.run, args=(listener,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.end()
        thread.join(_LINGER_S + _GREETING_S)


def _listen(port: int) -> socket.socket:
    try:
        if socket.has_dualstack_ipv6():
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096
            )
        return socket.create_server(("", port), backlog=4096)
    except OSError as error:
        raise PlinkError(
            f"rank 0 cannot open a meeting place on port {port}: {error.strerror}",
            "does another process here have rank 0, or the port?",
        ) from None


class _Server:
    """Server of the store, which runs in a thread of its own.

    Args:
        ranks: number of ranks that will connect. Many more callers are hung up on.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._greeted = 0
        self._values: dict[str, bytes] = {}
        self._bytes = 0
        self._waiters: dict[str, set[asyncio.Future[None]]] = {}
        self._connections = 0
        self._is_ending = threading.Event()

    def run(self, listener: socket.socket) -> None:
        """Serve until `end` is called, then for a while the ranks that still use the store."""
        asyncio.run(self._run(listener))

    def end(self) -> None:
        """Let the server end once all ranks have hung up, at the latest after `_LINGER_S`."""
        self._is_ending.set()

    async def _run(self, listener: socket.socket) -> None:
        acceptor = Acceptor([listener], with_streams(self._serve))
        while not self._is_ending.is_set():
            await asyncio.sleep(0.01)
        ended_s = time.monotonic()
        while time.monotonic() - ended_s < self._lingers_s:
            await asyncio.sleep(0.01)
        await acceptor.close()

    @property
    def _lingers_s(self) -> float:
        """Seconds after the end for which the store is still served."""
        if self._connections:
            return _LINGER_S
        return _LATE_S if self._greeted < self._ranks else 0.0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= self._ranks + _MOST_STRANGERS:
            return
        self._connections += 1
        try:
            greeting = await asyncio.wait_for(reader.readexactly(len(MAGIC)), _GREETING_S)
            self._greeted += greeting == MAGIC
            while greeting == MAGIC:
                found = await self._answer(reader)
                content = b"" if found is None else found
                length = ABSENT if found is None else len(content)
                writer.write(_LENGTH.pack(length) + content)
                await writer.drain()
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass
        finally:
            self._connections -= 1

    async def _answer(self, reader: asyncio.StreamReader) -> bytes | None:
        kind, key_bytes, value_bytes, wait_ms = _REQUEST.unpack(
            await reader.readexactly(_REQUEST.size)
        )
        if key_bytes > _MOST_KEY_BYTES or value_bytes > _MOST_VALUE_BYTES:
            raise ValueError("a key or a value is too large")
        key = (await reader.readexactly(key_bytes)).decode()
        value = await reader.readexactly(value_bytes)
        if kind == b"G":
            return await self._get(key, wait_ms / 1e3)
        if kind not in {b"S", b"C"}:
            raise ValueError("no such request")
        if kind == b"S" or key not in self._values:
            before = self._values.get(key)
            total = self._bytes + len(value)
            total += _ENTRY_BYTES if before is None else -len(before)
            if total > _MOST_BYTES:
                raise ValueError("the store is full")
            self._bytes = total
            self._values[key] = value
            for waiter in self._waiters.pop(key, ()):
                waiter.set_result(None)
        return self._values[key]

    async def _get(self, key: str, wait_s: float) -> bytes | None:
        if key not in self._values and wait_s > 0.0:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            waiters = self._waiters.setdefault(key, set())
            waiters.add(waiter)
            await asyncio.wait([waiter], timeout=wait_s)
            waiters.discard(waiter)
            if not waiters:
                self._waiters.pop(key, None)
        return self._values.get(key)
