"""Accept connections in an event loop, and let go of all of them when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

# Connections that wait in the kernel to be accepted, more than asyncio listens for.
_BACKLOG = 4096
# Until the next try, where there is no descriptor left or a task was not cancelled.
_RETRY_S = 0.1

Address: TypeAlias = tuple[str, int]
Serve: TypeAlias = Callable[[socket.socket, Address], Coroutine[Any, Any, None]]
ServeStreams: TypeAlias = Callable[
    [asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]
]


class Acceptor:
    """Acceptor of connections, which serves each in a task of the running event loop.

    asyncio has two ways, neither of which can be ended at any moment: `asyncio.Server` leaves
    a connection unclosed that it accepts just before, and `sock_accept` one that it has accepted
    when it is cancelled.

    Args:
        listeners: sockets that listen; they are closed with the acceptor.
        serve: serves a connection, not blocking, from an address; it is closed afterwards.
    """

    def __init__(self, listeners: Sequence[socket.socket], serve: Serve) -> None:
        self._loop = asyncio.get_running_loop()
        self._listeners = listeners
        self._serve = serve
        self._tasks: set[asyncio.Task[None]] = set()
        for listener in listeners:
            listener.setblocking(False)
            self._watch(listener)

    @property
    def address(self) -> Address:
        """Host and port of the first listener."""
        host, port, *_ = self._listeners[0].getsockname()
        return host, port

    async def close(self) -> None:
        """Close the listeners, cancel all tasks, and close their connections."""
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            # Before Python 3.12 `asyncio.wait_for` forgets that it was cancelled if what it waits
            # for has just come.
            await asyncio.wait(self._tasks, timeout=_RETRY_S)
            await asyncio.sleep(0)

    def _watch(self, listener: socket.socket) -> None:
        if listener.fileno() >= 0:
            self._loop.add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        # One at a time: while others wait to be accepted, those who are can speak.
        try:
            connection, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError:
            self._loop.remove_reader(listener)
            self._loop.call_later(_RETRY_S, self._watch, listener)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._serve(connection, address[:2]))
        self._tasks.add(task)
        # Not by the task, which has not begun where it is cancelled at once.
        task.add_done_callback(functools.partial(self._end, connection))

    def _end(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        connection.close()


def with_streams(serve: ServeStreams, limit_bytes: int = 1 << 16) -> Serve:
    """Build what serves connections by asyncio's streams, and sends all before it closes them.

    Args:
        serve: serves a connection.
        limit_bytes: of what is received and not read yet.
    """

    async def serve_connection(connection: socket.socket, _: Address) -> None:
        reader, writer = await asyncio.open_connection(sock=connection, limit=limit_bytes)
        try:
            await serve(reader, writer)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
        finally:
            writer.transport.abort()

    return serve_connection


async def listen(serve: ServeStreams, host: str, port: int, limit_bytes: int) -> Acceptor:
    """Serve everybody who connects to an address.

    Args:
        serve: serves a connection.
        host: name or address; an empty one for all addresses.
        port: TCP port; 0 for any.
        limit_bytes: of what is received and not read yet.

    Raises:
        OSError: the address cannot be listened on.
    """
    # asyncio finds all addresses of the name, and binds sockets to them.
    loop = asyncio.get_running_loop()
    bound = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
    with contextlib.ExitStack() as failed:
        failed.callback(bound.close)
        listeners = [failed.enter_context(each.dup()) for each in bound.sockets]
        for listener in listeners:
            listener.listen(_BACKLOG)
        failed.pop_all()
    bound.close()
    return Acceptor(listeners, with_streams(serve, limit_bytes))
