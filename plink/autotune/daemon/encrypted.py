"""One end of TLS over asyncio's streams; it stands for the reader and for the writer."""

from __future__ import annotations

import asyncio
import ssl

from plink.transport.encryption import ALERT, said_of
from plink.transport.frames import ProtocolError

_RECEIVED_BYTES = 1 << 16
# A fatal alert, "protocol_version" (RFC 8446, §6).
_NO_TLS = ALERT + b"\x03\x00\x02\x02\x46"


class Encrypted:
    """The daemon's end.

    Args:
        context: with its certificate.
        reader, writer: of the connection that was accepted.
    """

    def __init__(
        self, context: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader, self._writer = reader, writer
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    @property
    def transport(self) -> asyncio.WriteTransport:
        """What is below."""
        return self._writer.transport

    async def shake_hands(self) -> None:
        """Begin.

        Raises:
            ProtocolError: the other end does not speak TLS, or has no certificate of the job.
            asyncio.IncompleteReadError: it has gone.
        """
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                if not await self._hear():
                    raise asyncio.IncompleteReadError(b"", None) from None
            except ssl.SSLError as error:
                # The alert that says why, which OpenSSL has none of for what is no TLS.
                self._writer.write(self._outgoing.read() or _NO_TLS)
                raise ProtocolError(f"it {said_of(error)}") from None
            else:
                self._flush()
                return

    async def read(self, most_bytes: int) -> bytes:
        """As a stream's reader does: what is there, nothing at the end.

        Raises:
            ProtocolError: what came was changed on the way.
        """
        while True:
            try:
                return self._tls.read(most_bytes)
            except ssl.SSLWantReadError:
                if not await self._hear():
                    return b""
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                raise ProtocolError(f"it {said_of(error)}") from None

    async def readexactly(self, size_bytes: int) -> bytes:
        """As a stream's reader does.

        Raises:
            asyncio.IncompleteReadError: it ends before.
            ProtocolError: what came was changed on the way.
        """
        read = bytearray()
        while len(read) < size_bytes:
            part = await self.read(size_bytes - len(read))
            if not part:
                raise asyncio.IncompleteReadError(bytes(read), size_bytes)
            read += part
        return bytes(read)

    def write(self, data: bytes) -> None:
        """As a stream's writer does, at once."""
        self._tls.write(data)
        self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._writer.write(self._outgoing.read())

    async def _hear(self) -> bool:
        received = await self._reader.read(_RECEIVED_BYTES)
        self._incoming.write(received)
        return bool(received)
