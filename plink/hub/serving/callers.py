"""A server's end of connections that begin: who calls, and the proof of it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from plink.hub.session.codec import from_json, to_json
from plink.hub.session.data import HELLO_BYTES, DataHello, DataReception, FindOpened
from plink.hub.session.handshake import GREETING_BYTES, Reception, Session
from plink.hub.session.messages import Message
from plink.hub.session.roles import FindSecret
from plink.transport.frames import payload_of
from plink.transport.proofs import ANSWER_BYTES

_READ_BYTES = 1 << 16
# Both kinds of beginnings differ within these.
_KIND_BYTES = 9
_DATA = b"plinkhubd"


class Control:
    """A proven control connection.

    Args:
        connection: non-blocking.
        session: of the caller.
        host: from which it calls.
    """

    def __init__(self, connection: socket.socket, session: Session, host: str) -> None:
        self.session = session
        self.host = host
        self._connection = connection
        self._messages: list[dict[str, Any]] = []
        self._sending = asyncio.Lock()

    async def receive(self) -> Message | None:
        """The next message; None once the caller is gone.

        Raises:
            ProtocolError: it is none that such a caller sends.
        """
        loop = asyncio.get_running_loop()
        while not self._messages:
            try:
                data = await loop.sock_recv(self._connection, _READ_BYTES)
            except OSError:
                return None
            if not data:
                return None
            self._messages += self.session.channel.feed(data)
        return from_json(self._messages.pop(0), self.session.role)

    async def send(self, message: Message) -> None:
        """Say something; that the caller is gone is noticed where it is read."""
        loop = asyncio.get_running_loop()
        async with self._sending:
            data = self.session.channel.pack(payload_of(to_json(message)))
            try:
                await loop.sock_sendall(self._connection, data)
            except OSError:
                return


async def greeted(
    connection: socket.socket, find_secret: FindSecret, find_opened: FindOpened
) -> Session | DataHello:
    """Who calls, once that is proven.

    Args:
        connection: non-blocking.
        find_secret: of a role and namespace.
        find_opened: the session of a data connection.

    Raises:
        ProtocolError: it is not.
        OSError: the connection is lost.
    """
    loop = asyncio.get_running_loop()
    start = await _exactly(connection, _KIND_BYTES)
    reception: Reception | DataReception
    if start == _DATA:
        reception, size_bytes = DataReception(find_opened), HELLO_BYTES
    else:
        reception, size_bytes = Reception(find_secret), GREETING_BYTES
    challenge = reception.greet(start + await _exactly(connection, size_bytes - len(start)))
    await loop.sock_sendall(connection, challenge)
    return reception.admit(await _exactly(connection, ANSWER_BYTES))


async def _exactly(connection: socket.socket, size_bytes: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < size_bytes:
        part = await loop.sock_recv(connection, size_bytes - len(data))
        if not part:
            raise ConnectionResetError("the caller has closed the connection")
        data += part
    return data
