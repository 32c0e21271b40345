"""The calling end of a connection to the daemon: it proves the secret, and has it proven."""

from __future__ import annotations

import secrets
import socket

from plink.autotune.protocol.frames import Channel
from plink.autotune.protocol.handshake import CHALLENGE_BYTES, Proofs, greeting
from plink.autotune.protocol.secret import NONCE_BYTES


def authenticated(connection: socket.socket, secret: bytes, job: str) -> Channel:
    """The channel, once both ends have proven that they know the job's secret.

    Raises:
        ProtocolError: the daemon does not know it.
        OSError: the connection is lost.
    """
    nonce = secrets.token_bytes(NONCE_BYTES)
    connection.sendall(greeting(job, nonce))
    challenge = _received(connection, CHALLENGE_BYTES)
    proofs = Proofs(secret, job, nonce + challenge[:NONCE_BYTES])
    proofs.check(challenge[NONCE_BYTES:], proofs.of_daemon)
    connection.sendall(proofs.of_rank)
    return Channel(proofs.session_key, is_daemon=False)


def _received(connection: socket.socket, size_bytes: int) -> bytes:
    received = b""
    while len(received) < size_bytes:
        part = connection.recv(size_bytes - len(received))
        if not part:
            raise ConnectionResetError("the autotuner has closed the connection: another job?")
        received += part
    return received
