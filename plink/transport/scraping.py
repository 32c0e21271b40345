"""The metrics over HTTP.

prometheus_client, an extra that is imported here, has a server of its own; it keeps a thread for
everybody who connects and says nothing.
"""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from plink.base.errors import PlinkError
from plink.transport.door import Door, source_of
from plink.transport.listening import Acceptor, listen

_MOST_CALLERS = 64
_MOST_REQUEST_BYTES = 1 << 14
_TIMEOUT_S = 10.0


class Scraping:
    """Answers every GET with the metrics.

    Args:
        registry: of the metrics.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._door = Door(_MOST_CALLERS)

    async def listen(self, host: str, port: int) -> Acceptor:
        """Begin to serve.

        Raises:
            PlinkError: the address cannot be listened on.
        """
        try:
            return await listen(self._serve, host, port, _MOST_REQUEST_BYTES)
        except OSError as error:
            reason = error.strerror or str(error)
            raise PlinkError(f"cannot serve metrics on {host}:{port}: {reason}") from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        caller = self._door.enter(source_of(peer[0]) if peer else "", writer.transport.abort)
        try:
            await asyncio.wait_for(self._answer(reader, writer), _TIMEOUT_S)
        except (OSError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError):
            writer.transport.abort()
        finally:
            self._door.left(caller)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *headers = head.split("\r\n")
        fields = dict(line.lower().split(":", 1) for line in headers if ":" in line)
        if request.split(" ")[0] == "GET":
            encode, kind = choose_encoder(fields.get("accept", "").strip())
            said, body = f"200 OK\r\nContent-Type: {kind}", encode(self._registry)
        else:
            said, body = "405 Method Not Allowed\r\nAllow: GET", b""
        words = f"HTTP/1.1 {said}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(words.encode() + body)
        writer.close()
        await writer.wait_closed()
