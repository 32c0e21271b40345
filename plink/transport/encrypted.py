"""A server's end of TLS: without a socket, and over asyncio's streams."""

from __future__ import annotations

import asyncio
import ssl

from plink.transport.encryption import ALERT, said_of
from plink.transport.frames import ProtocolError

_RECEIVED_BYTES = 1 << 16
# A fatal alert, "protocol_version" (RFC 8446, §6).
_NO_TLS = ALERT + b"\x03\x00\x02\x02\x46"


class ServerTls:
    """TLS of a server without a socket: received bytes are fed in, bytes to send are taken.

    Args:
        context: with the server's certificate.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def hear(self, data: bytes) -> None:
        """Bytes have come."""
        self._incoming.write(data)

    def take(self) -> bytes:
        """Return the bytes to send to the other end."""
        return self._outgoing.read()

    def shake_hands(self) -> bool:
        """Go on with the beginning; whether it is over.

        Raises:
            ProtocolError: the other end does not speak TLS, or has no certificate of the job; it
                is to be told what is to be taken.
        """
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            if not self._outgoing.pending:
                # The alert that says why, which OpenSSL has none of for what is no TLS.
                self._outgoing.write(_NO_TLS)
            raise ProtocolError(f"it {said_of(error)}") from None
        return True

    def read(self, most_bytes: int) -> bytes | None:
        """Return decrypted bytes; empty at the end, None if more has to be received.

        Raises:
            ProtocolError: what came was changed on the way.
        """
        try:
            return self._tls.read(most_bytes)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLError as error:
            raise ProtocolError(f"it {said_of(error)}") from None

    def write(self, data: bytes) -> None:
        """Bytes are to go."""
        self._tls.write(data)


class Encrypted:
    """The end of a server by asyncio's streams; it stands for the reader and for the writer.

    Args:
        context: with its certificate.
        reader, writer: of the connection that was accepted.
    """

    def __init__(
        self, context: ssl.SSLContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader, self._writer = reader, writer
        self._tls = ServerTls(context)

    @property
    def transport(self) -> asyncio.WriteTransport:
        """Transport below the encryption."""
        return self._writer.transport

    async def shake_hands(self) -> None:
        """Begin.

        Raises:
            ProtocolError: the other end does not speak TLS, or has no certificate of the job.
            asyncio.IncompleteReadError: it has gone.
        """
        try:
            while not self._tls.shake_hands():
                self._flush()
                if not await self._hear():
                    raise asyncio.IncompleteReadError(b"", None)
        finally:
            self._flush()

    async def read(self, most_bytes: int) -> bytes:
        """Read as a stream's reader does: the bytes at hand, empty at the end.

        Raises:
            ProtocolError: what came was changed on the way.
        """
        while (found := self._tls.read(most_bytes)) is None:
            if not await self._hear():
                return b""
        return found

    async def readexactly(self, size_bytes: int) -> bytes:
        """Read exactly as many bytes, as a stream's reader does.

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
        """Write as a stream's writer does, at once."""
        self._tls.write(data)
        self._flush()

    def _flush(self) -> None:
        if data := self._tls.take():
            self._writer.write(data)

    async def _hear(self) -> bool:
        received = await self._reader.read(_RECEIVED_BYTES)
        self._tls.hear(received)
        return bool(received)
