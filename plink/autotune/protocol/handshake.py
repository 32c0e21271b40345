"""How ranks and daemon prove that they know the job's secret (`plink.transport.proofs`)."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from plink.transport.encryption import HANDSHAKE
from plink.transport.frames import Channel, ProtocolError
from plink.transport.proofs import (
    CHALLENGE_BYTES,
    NONCE_BYTES,
    Greeting,
    checked_secret,
    is_proof,
    proof,
    read_secret,
    received_whole,
)

SECRET_VARIABLE = "PLINK_AUTOTUNE_SECRET"  # noqa: S105  its name, not the secret
FILE_VARIABLE = "PLINK_AUTOTUNE_SECRET_FILE"

SERVER = "the autotuner"
"""What messages to ranks and viewers call the daemon."""

_GREETING = Greeting(b"plinktune\x02", "rank", "job")
GREETING_BYTES = _GREETING.size_bytes

DEFAULT_JOB = "job"


def secret_of(environment: Mapping[str, str]) -> bytes | None:
    """Return the secret that the environment holds or names a file of; None if it does neither.

    Raises:
        WrongUseError: the file cannot be read, or the secret is too short.
    """
    if SECRET_VARIABLE in environment:
        return checked_secret(environment[SECRET_VARIABLE].encode(), SECRET_VARIABLE)
    if FILE_VARIABLE in environment:
        return read_secret(environment[FILE_VARIABLE])
    return None


def greeting(job: str, nonce: bytes) -> bytes:
    """Return a rank's first message."""
    return _GREETING.pack(job, nonce)


def parse_greeting(received: bytes) -> tuple[str, bytes]:
    """Return the job's name and the nonce.

    Raises:
        ProtocolError: it is not a greeting of this version, or the name is not valid.
    """
    if received.startswith(HANDSHAKE):
        raise ProtocolError("it speaks TLS, which this daemon was not told to")
    return _GREETING.parse(received)


@dataclass(frozen=True)
class Proofs:
    """Proofs and key that both ends derive once they have each other's nonce.

    Args:
        secret: of the job.
        job: its name.
        nonces: the rank's, then the daemon's.
    """

    secret: bytes
    job: str
    nonces: bytes

    @property
    def of_daemon(self) -> bytes:
        """The daemon's proof."""
        return self._proof("daemon")

    @property
    def of_rank(self) -> bytes:
        """The rank's proof."""
        return self._proof("rank")

    @property
    def session_key(self) -> bytes:
        """Return the key for `Channel`."""
        return self._proof("session")

    def check(self, given: bytes, expected: bytes) -> None:
        """Refuse a wrong proof.

        Raises:
            ProtocolError: it is wrong.
        """
        if not is_proof(given, expected):
            raise ProtocolError(f"job {self.job} has another secret there")

    def _proof(self, role: str) -> bytes:
        return proof(self.secret, f"autotune {role} {self.job}", self.nonces)


def authenticate(connection: socket.socket, secret: bytes, job: str) -> Channel:
    """Return the channel, once both ends have proven that they know the job's secret.

    Raises:
        ProtocolError: the daemon does not know it.
        OSError: the connection is lost.
    """
    nonce = secrets.token_bytes(NONCE_BYTES)
    connection.sendall(greeting(job, nonce))
    challenge = received_whole(connection, CHALLENGE_BYTES, SERVER, "another job?")
    proofs = Proofs(secret, job, nonce + challenge[:NONCE_BYTES])
    proofs.check(challenge[NONCE_BYTES:], proofs.of_daemon)
    connection.sendall(proofs.of_rank)
    return Channel(proofs.session_key, is_server=False)
