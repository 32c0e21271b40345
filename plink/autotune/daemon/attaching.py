"""A viewer of a running daemon: it asks, is shown a job, and changes nothing."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plink.autotune.protocol.handshake import SERVER, authenticate
from plink.autotune.protocol.messages import Watch, to_json
from plink.autotune.protocol.status import JobStatus, from_json
from plink.base.errors import PlinkError
from plink.transport.encryption import encrypt
from plink.transport.encryption import receive as received_from
from plink.transport.frames import Channel, ProtocolError, payload_of
from plink.transport.tls import Tls

_TIMEOUT_S = 10.0
_RECEIVED_BYTES = 1 << 16


class Viewer:
    """A connection that has proven the secret.

    Args:
        connection: to the daemon.
        channel: over it.
    """

    def __init__(self, connection: socket.socket, channel: Channel) -> None:
        self._connection = connection
        self._channel = channel

    def look(self) -> JobStatus:
        """Return the job as it is now.

        Raises:
            PlinkError: the daemon is gone, or says what no daemon says.
        """
        try:
            self._connection.sendall(self._channel.pack(payload_of(to_json(Watch()))))
            messages: list[dict[str, Any]] = []
            while not messages:
                received = received_from(self._connection, _RECEIVED_BYTES, SERVER)
                if not received:
                    raise PlinkError(
                        "the daemon has closed the connection",
                        "it has ended, or its plink is too old to be attached to",
                    )
                messages = self._channel.feed(received)
        except OSError as error:
            raise PlinkError(f"the daemon is gone: {_reason(error)}") from None
        if len(messages) > 1:
            raise ProtocolError("the daemon has said more than it was asked")
        return from_json(messages[0])


@contextmanager
def attach(
    host: str, port: int, secret: bytes, job: str, tls: Tls | None = None
) -> Iterator[Viewer]:
    """Attach to the daemon there, by TLS if files are given.

    Raises:
        PlinkError: nobody answers, or not one that knows this job and its secret.
    """
    try:
        connection = socket.create_connection((host, port), _TIMEOUT_S)
    except OSError as error:
        raise PlinkError(
            f"no daemon answers at {host}:{port}: {_reason(error)}",
            "plink autotune serve PLAN --listen HOST:PORT starts one",
        ) from None
    with contextlib.ExitStack() as stack:
        stack.enter_context(connection)
        try:
            connection = stack.enter_context(encrypt(connection, tls, SERVER))
            channel = authenticate(connection, secret, job)
        except OSError as error:
            raise PlinkError(f"{host}:{port}: {_reason(error)}") from None
        yield Viewer(connection, channel)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
