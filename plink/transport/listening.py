"""A port at which more may call at once than asyncio listens for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

# Connections that wait in the kernel to be accepted.
_BACKLOG = 4096

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def listening(serve: Serve, host: str, port: int, limit_bytes: int) -> asyncio.Server:
    """Begin to serve everybody who connects.

    Raises:
        OSError: the address cannot be listened on.
    """
    server = await asyncio.start_server(serve, host, port, limit=limit_bytes)
    for listener in server.sockets:
        # Of a number that asyncio is told, it accepts as many before it does anything else.
        with listener.dup() as same:
            same.listen(_BACKLOG)
    return server
