"""Client end of control connections: connect to a server, authenticate, send requests."""

from __future__ import annotations

import contextlib
import socket
from typing import Any

from plink.base.errors import PlinkError
from plink.hub.session.data import DataHello, open_data
from plink.hub.session.handshake import authenticate
from plink.hub.session.messages import Failure, Message, from_json, to_json
from plink.hub.session.roles import SERVER
from plink.transport.addresses import parse_address
from plink.transport.encryption import encrypt, receive
from plink.transport.frames import payload_of
from plink.transport.tls import Tls

_READ_BYTES = 1 << 16


class HubError(PlinkError):
    """Error of a service that refuses, has failed or cannot be reached; it names the culprit."""


class PastIterationError(HubError):
    """Refusal because the iteration asked for is past; a later one may do."""


class Control:
    """Authenticated control connection to one server.

    Args:
        address: of the server, HOST:PORT.
        role: of this end, of `plink.hub.session.roles`.
        namespace: of the service, or `NO_NAMESPACE`.
        secret: of the role.
        timeout_s: of each answer.
        tls: the files, each of which can be read; None without TLS.

    Raises:
        HubError: nobody is there.
        ProtocolError: it knows another secret, or only one end speaks TLS.
    """

    def __init__(
        self,
        address: str,
        role: str,
        namespace: str,
        secret: bytes,
        timeout_s: float,
        *,
        tls: Tls | None = None,
    ) -> None:
        self.peer = f"the hub at {address}"
        self._messages: list[dict[str, Any]] = []
        self._socket = _call(address, timeout_s)
        try:
            self._socket = encrypt(self._socket, tls, self.peer)
            self.session = authenticate(self._socket, role, namespace, secret, self.peer)
        except OSError as error:
            self._socket.close()
            raise _connection_error(self.peer, error) from None
        except PlinkError:
            self._socket.close()
            raise

    def ask(self, message: Message) -> Message:
        """Send a message and return the server's answer.

        Raises:
            HubError: it refuses, or is lost.
        """
        try:
            self._socket.sendall(self.session.channel.pack(payload_of(to_json(message))))
            while not self._messages:
                data = receive(self._socket, _READ_BYTES, self.peer)
                if not data:
                    raise ConnectionResetError("it closed the connection")
                self._messages += self.session.channel.feed(data)
        except TimeoutError:
            raise HubError(f"{self.peer} does not answer") from None
        except OSError as error:
            raise _connection_error(self.peer, error) from None
        answer = from_json(self._messages.pop(0), SERVER)
        if isinstance(answer, Failure):
            kind = PastIterationError if answer.is_past else HubError
            raise kind(answer.sentence, answer.hint)
        return answer

    def close(self) -> None:
        """Close the connection, also while another thread waits for an answer on it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def data_connection(
    address: str, hello: DataHello, data_key: bytes, timeout_s: float, source: str | None = None
) -> socket.socket:
    """Connect to a server's port, authenticate, and return the socket for data.

    Args:
        address: to call.
        hello: what it says first.
        data_key: of its control session.
        timeout_s: for each step.
        source: the host's own address to call from; None for what the route has.

    Raises:
        HubError: it cannot be had.
        ProtocolError: the server does not know the session.
    """
    peer = f"the hub at {address}"
    connection = _call(address, timeout_s, source)
    try:
        open_data(connection, hello, data_key, peer)
    except OSError as error:
        connection.close()
        raise _connection_error(peer, error) from None
    except PlinkError:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def _call(address: str, timeout_s: float, source: str | None = None) -> socket.socket:
    own = None if source is None else (source, 0)
    try:
        connection = socket.create_connection(parse_address(address, "a server"), timeout_s, own)
    except OSError as error:
        raise HubError(
            f"the hub at {address} cannot be reached: {error.strerror or error}",
            "plink hub serve starts it",
        ) from None
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _connection_error(peer: str, error: OSError) -> HubError:
    return HubError(f"{peer} is lost: {error.strerror or error}")
