"""Server end of a connection that Python serves, in the clear or by TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl

from plink.transport.encrypted import ServerTls
from plink.transport.frames import ProtocolError

_READ_BYTES = 1 << 16


class Stream:
    """Connected socket whose bytes travel in the clear or by TLS.

    Args:
        connection: non-blocking.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._tls: ServerTls | None = None
        self._sending = asyncio.Lock()

    async def encrypt(self, context: ssl.SSLContext, begun: bytes) -> None:
        """Switch the connection to TLS, as its server.

        Args:
            context: with the server's certificate.
            begun: what was received of it already.

        Raises:
            ProtocolError: the other end does not speak TLS, or has no certificate of the authority.
            OSError: the connection is lost.
        """
        self._tls = tls = ServerTls(context)
        tls.hear(begun)
        try:
            while not tls.shake_hands():
                await self._flush(tls)
                tls.hear(await self._receive(_READ_BYTES))
        except ProtocolError:
            # It is told why, where it still listens.
            with contextlib.suppress(OSError):
                await self._flush(tls)
            raise
        await self._flush(tls)

    async def receive(self, most_bytes: int = _READ_BYTES) -> bytes:
        """Receive the bytes that are at hand, waiting for at least one.

        Raises:
            ProtocolError: it was changed on the way.
            OSError: the connection is lost, or the other end closed it.
        """
        if self._tls is None:
            return await self._receive(most_bytes)
        while (found := self._tls.read(most_bytes)) is None:
            self._tls.hear(await self._receive(_READ_BYTES))
            await self._flush(self._tls)
        if not found:
            raise _closed_error()
        return found

    async def exactly(self, size_bytes: int) -> bytes:
        """Receive exactly `size_bytes` bytes.

        Raises:
            ProtocolError: it was changed on the way.
            OSError: the connection is lost, or the other end closed it.
        """
        data = b""
        while len(data) < size_bytes:
            data += await self.receive(size_bytes - len(data))
        return data

    async def send(self, data: bytes) -> None:
        """Send all of the given bytes.

        Raises:
            OSError: the connection is lost.
        """
        if self._tls is not None:
            self._tls.write(data)
            await self._flush(self._tls)
            return
        async with self._sending:
            await asyncio.get_running_loop().sock_sendall(self._connection, data)

    async def _receive(self, most_bytes: int) -> bytes:
        data = await asyncio.get_running_loop().sock_recv(self._connection, most_bytes)
        if not data:
            raise _closed_error()
        return data

    async def _flush(self, tls: ServerTls) -> None:
        async with self._sending:
            if data := tls.take():
                await asyncio.get_running_loop().sock_sendall(self._connection, data)


def _closed_error() -> ConnectionResetError:
    return ConnectionResetError("the caller has closed the connection")
