"""Control connections at the server's end: who calls, and what it asks for."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from plink.hub.serving.hello import DATA_BYTES, DATA_MAGIC, MAGIC_BYTES, Proofs
from plink.transport.frames import Channel, ProtocolError, payload_of
from plink.transport.proofs import NONCE_BYTES, PROOF_BYTES, Greeting, is_proof

_READ_BYTES = 1 << 16


async def exactly(connection: socket.socket, size_bytes: int) -> bytes:
    """So many bytes.

    Raises:
        ConnectionResetError: they do not come.
    """
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < size_bytes:
        part = await loop.sock_recv(connection, size_bytes - len(data))
        if not part:
            raise ConnectionResetError("the caller has closed the connection")
        data += part
    return data


async def opening(connection: socket.socket) -> bytes:
    """What a caller says first, as long as its kind makes it.

    Raises:
        ProtocolError: it is no caller of the hub.
    """
    from plink.hub.serving.hello import ADMIN, WORKER  # noqa: PLC0415

    start = await exactly(connection, MAGIC_BYTES)
    if start == DATA_MAGIC:
        return start + await exactly(connection, DATA_BYTES - MAGIC_BYTES)
    for greeting in (WORKER, ADMIN):
        if start == greeting.magic[:MAGIC_BYTES]:
            return start + await exactly(connection, greeting.size_bytes - MAGIC_BYTES)
    raise ProtocolError("not a worker of this version of plink")


class Session:
    """A proven control connection.

    Args:
        connection: non-blocking.
        key: of the session.
        name: of the service that it is about.
        host: of the caller.
    """

    def __init__(self, connection: socket.socket, key: bytes, name: str, host: str) -> None:
        self.key = key
        self.name = name
        self.host = host
        self._connection = connection
        self._channel = Channel(key, is_server=True, whose="service")
        self._messages: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None once the caller is gone."""
        loop = asyncio.get_running_loop()
        while not self._messages:
            try:
                data = await loop.sock_recv(self._connection, _READ_BYTES)
            except OSError:
                return None
            if not data:
                return None
            self._messages += self._channel.feed(data)
        return self._messages.pop(0)

    async def send(self, message: dict[str, Any]) -> None:
        """Errors of the connection are the reader's to notice."""
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._connection, self._channel.pack(payload_of(message)))
        except OSError:
            return


async def proven(
    connection: socket.socket,
    greeting: Greeting,
    data: bytes,
    secret_of: Callable[[str], bytes],
    host: str,
) -> Session:
    """The session of a caller that has proven the secret of the name that it gave.

    Raises:
        ProtocolError: it has not.
    """
    loop = asyncio.get_running_loop()
    name, nonce = greeting.parse(data)
    own = secrets.token_bytes(NONCE_BYTES)
    proofs = Proofs(secret_of(name), name, nonce + own)
    await loop.sock_sendall(connection, own + proofs.of("server"))
    answer = await exactly(connection, PROOF_BYTES)
    if not is_proof(answer, proofs.of(greeting.caller)):
        raise ProtocolError(f"service {name} has another secret")
    return Session(connection, proofs.session_key, name, host)


Handler = Callable[[Session], Awaitable[None]]
