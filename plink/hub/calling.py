"""A caller's end of control and data connections: it calls, proves itself, asks and is answered."""

from __future__ import annotations

import secrets
import socket
from typing import Any

from plink.base.errors import PlinkError
from plink.hub.serving.hello import SERVER, WELCOME, DataHello, Proofs
from plink.transport.addresses import format_address, parse_address
from plink.transport.frames import Channel, ProtocolError, payload_of
from plink.transport.proofs import (
    CHALLENGE_BYTES,
    NONCE_BYTES,
    Greeting,
    is_proof,
    received_whole,
)

_READ_BYTES = 1 << 16


class HubError(PlinkError):
    """The service refuses, has failed, or cannot be reached; the message names who is to blame."""


class Session:
    """A proven control connection to one server.

    Args:
        address: of the server, HOST:PORT.
        greeting: of this kind of caller.
        name: of the service.
        secret: to prove.
        timeout_s: of each answer.

    Raises:
        HubError: nobody is there, or it knows another secret.
    """

    def __init__(
        self, address: str, greeting: Greeting, name: str, secret: bytes, timeout_s: float
    ) -> None:
        self.address = address
        self.peer = f"the hub at {address}"
        self._socket = call(address, timeout_s)
        self._messages: list[dict[str, Any]] = []
        try:
            nonce = secrets.token_bytes(NONCE_BYTES)
            self._socket.sendall(greeting.pack(name, nonce))
            challenge = received_whole(
                self._socket, CHALLENGE_BYTES, self.peer, "is its plink another version?"
            )
            proofs = Proofs(secret, name, nonce + challenge[:NONCE_BYTES])
            if not is_proof(challenge[NONCE_BYTES:], proofs.of("server")):
                raise HubError(
                    f"{self.peer} has no service {name} with this secret",
                    "plink hub status shows its services",
                )
            self._socket.sendall(proofs.of(greeting.caller))
        except OSError as error:
            self._socket.close()
            raise HubError(f"{self.peer} is lost: {error.strerror or error}") from None
        except PlinkError:
            self._socket.close()
            raise
        self.key = proofs.session_key
        self._channel = Channel(self.key, is_server=False, whose="service")

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """What the server answers.

        Raises:
            HubError: it refuses, or is lost.
        """
        try:
            self.tell(message)
            while not self._messages:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    raise ConnectionResetError("it closed the connection")
                self._messages += self._channel.feed(data)
        except TimeoutError:
            raise HubError(f"{self.peer} does not answer") from None
        except OSError as error:
            raise HubError(f"{self.peer} is lost: {error.strerror or error}") from None
        answer = self._messages.pop(0)
        if answer.get("what") == "refused":
            hint = answer.get("hint")
            raise HubError(str(answer.get("why")), hint if isinstance(hint, str) else None)
        return answer

    def tell(self, message: dict[str, Any]) -> None:
        """Say something that has no answer."""
        self._socket.sendall(self._channel.pack(payload_of(message)))

    def close(self) -> None:
        """End it."""
        self._socket.close()


def call(address: str, timeout_s: float) -> socket.socket:
    """A connection.

    Raises:
        HubError: nobody is there.
    """
    try:
        connection = socket.create_connection(parse_address(address, "a server"), timeout_s)
    except OSError as error:
        raise HubError(
            f"the hub at {address} cannot be reached: {error.strerror or error}",
            "plink hub serve starts it",
        ) from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def open_data(address: str, hello: DataHello, key: bytes, timeout_s: float) -> socket.socket:
    """A proven data connection.

    Raises:
        HubError: it cannot be had.
    """
    peer = f"the hub at {address}"
    connection = call(address, timeout_s)
    try:
        connection.sendall(hello.pack())
        challenge = received_whole(connection, CHALLENGE_BYTES, peer, "has the service failed?")
        nonce = challenge[:NONCE_BYTES]
        if not is_proof(challenge[NONCE_BYTES:], hello.proof(key, "server", nonce)):
            raise ProtocolError(f"{peer} is another server")
        connection.sendall(hello.proof(key, "worker", nonce))
        received_whole(connection, len(WELCOME), peer, "has the service failed?")
    except OSError as error:
        connection.close()
        raise HubError(f"{peer} is lost: {error.strerror or error}") from None
    except PlinkError:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def with_port_of(host: str, address: str) -> str:
    """The address, on that host if it stands for all of the server's."""
    its, port = parse_address(address, SERVER)
    return format_address(host, port) if its in ("0.0.0.0", "::") else address  # noqa: S104
