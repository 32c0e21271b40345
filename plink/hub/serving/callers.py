"""Server end of new connections: authenticate the caller, then exchange messages."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from plink.hub.serving.stream import Stream
from plink.hub.session.data import HELLO_BYTES, DataHello, DataReception, FindOpened
from plink.hub.session.handshake import GREETING_BYTES, Reception, Session
from plink.hub.session.messages import Message, from_json, to_json
from plink.hub.session.roles import FindSecret
from plink.transport.encryption import HANDSHAKE
from plink.transport.frames import payload_of
from plink.transport.proofs import ANSWER_BYTES

# Both kinds of beginnings differ within these.
_KIND_BYTES = 9
_DATA = b"plinkhubd"


class Control:
    """Authenticated control connection from a caller.

    Args:
        stream: to the caller.
        session: of the caller.
        host: from which it calls.
    """

    def __init__(self, stream: Stream, session: Session, host: str) -> None:
        self.session = session
        self.host = host
        self._stream = stream
        self._messages: list[dict[str, Any]] = []
        self._sending = asyncio.Lock()

    async def receive(self) -> Message | None:
        """Return the caller's next message; None once the connection is closed or lost.

        Raises:
            ProtocolError: it is none that such a caller sends.
        """
        while not self._messages:
            try:
                data = await self._stream.receive()
            except OSError:
                return None
            self._messages += self.session.channel.feed(data)
        return from_json(self._messages.pop(0), self.session.role)

    async def send(self, message: Message) -> None:
        """Send a message; `receive` reports a lost connection, this does not."""
        async with self._sending:
            data = self.session.channel.pack(payload_of(to_json(message)))
            try:
                await self._stream.send(data)
            except OSError:
                return


async def greet(
    stream: Stream,
    find_secret: FindSecret,
    find_opened: FindOpened,
    has_greeted: Callable[[], None],
    tls: ssl.SSLContext | None = None,
) -> Session | DataHello:
    """Authenticate a caller; return its session, or the hello of a data connection.

    Connections for data say who they are in the clear; TLS begins after that, in the native code.

    Args:
        stream: to the caller.
        find_secret: of a role and namespace.
        find_opened: the session of a data connection.
        has_greeted: called once the caller has said something that it should.
        tls: with the server's certificate; None for clear connections.

    Raises:
        ProtocolError: it is not.
        OSError: the connection is lost.
    """
    start = await stream.exactly(_KIND_BYTES)
    reception: Reception | DataReception
    if start == _DATA:
        reception, size_bytes = DataReception(find_opened), HELLO_BYTES
    else:
        reception, size_bytes = Reception(find_secret), GREETING_BYTES
        if tls is not None:
            if not start.startswith(HANDSHAKE):
                # The caller hears why not only if nothing that it said is left unread.
                start += await stream.exactly(size_bytes - len(start))
            await stream.encrypt(tls, start)
            start = b""
    challenge = reception.greet(start + await stream.exactly(size_bytes - len(start)))
    has_greeted()
    await stream.send(challenge)
    return reception.admit(await stream.exactly(ANSWER_BYTES))
