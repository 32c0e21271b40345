"""How both ends of a connection prove that they know the job's secret.

The calling end sends magic, version, job and a nonce; the daemon a nonce and its proof; the caller
its own. A proof is HMAC-SHA256 (RFC 2104) over both nonces. Every step has a fixed length, so that
a stranger can neither send nor ask for more.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from plink.autotune.protocol.encryption import ALERT, HANDSHAKE
from plink.autotune.protocol.encryption import received as received_from
from plink.autotune.protocol.frames import Channel, ProtocolError
from plink.base.errors import WrongUseError
from plink.base.opening import open_input

SECRET_VARIABLE = "PLINK_AUTOTUNE_SECRET"  # noqa: S105  its name, not the secret
FILE_VARIABLE = "PLINK_AUTOTUNE_SECRET_FILE"

NONCE_BYTES = 32
PROOF_BYTES = 32

_MAGIC = b"plinktune\x02"
_NAME_BYTES = 64

GREETING_BYTES = len(_MAGIC) + _NAME_BYTES + NONCE_BYTES
CHALLENGE_BYTES = NONCE_BYTES + PROOF_BYTES
ANSWER_BYTES = PROOF_BYTES

DEFAULT_JOB = "job"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_LEAST_BYTES = 16
_MOST_BYTES = 4096
_MOST_FILE_BYTES = 1 << 20


def secret_of(environment: Mapping[str, str]) -> bytes | None:
    """The secret that the environment holds or names a file of; None if it does neither.

    Raises:
        WrongUseError: the file cannot be read, or the secret is too short.
    """
    if SECRET_VARIABLE in environment:
        return _checked(environment[SECRET_VARIABLE].encode(), SECRET_VARIABLE)
    if FILE_VARIABLE in environment:
        return read_secret(environment[FILE_VARIABLE])
    return None


def read_secret(path: str) -> bytes:
    """The secret in a file; white space around it does not count.

    Raises:
        WrongUseError: the file cannot be read, or the secret is too short or too long.
    """
    try:
        with open_input(path, _MOST_FILE_BYTES) as stream:
            return _checked(stream.read(_MOST_BYTES + 1), path)
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}") from None


def make_secret(path: str, secret: bytes | None = None) -> bytes:
    """A secret in a new file that only its owner reads; a new one of 256 bits, if none is given.

    Raises:
        WrongUseError: the file cannot be made.
    """
    secret = secrets.token_hex(32).encode() if secret is None else secret
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secret + b"\n")
    except (OSError, ValueError) as error:
        raise WrongUseError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return secret


def proof(secret: bytes, role: str, job: str, nonces: bytes) -> bytes:
    """What only an end that knows the secret can say.

    Args:
        secret: of the job.
        role: of the end that proves, so that no end can be sent its own proof.
        job: its name.
        nonces: the client's, then the daemon's.
    """
    return hmac.digest(secret, f"plink autotune {role} {job} ".encode() + nonces, hashlib.sha256)


def is_proof(given: bytes, expected: bytes) -> bool:
    """Compare without telling how much agrees."""
    return hmac.compare_digest(given, expected)


def _checked(secret: bytes, source: str) -> bytes:
    stripped = secret.strip()
    if not _LEAST_BYTES <= len(stripped) <= _MOST_BYTES:
        raise WrongUseError(
            f"{source}: holds a secret of {len(stripped)} bytes, "
            f"expected {_LEAST_BYTES} to {_MOST_BYTES}",
            "openssl rand -hex 32 makes one",
        )
    return stripped


def is_job_name(name: str) -> bool:
    """Letters, digits, `_`, `.` and `-`, 64 at most."""
    return len(name) <= _NAME_BYTES and _NAME.fullmatch(name) is not None


def greeting(job: str, nonce: bytes) -> bytes:
    """What a rank says first."""
    return _MAGIC + job.encode().ljust(_NAME_BYTES, b"\0") + nonce


def parse_greeting(received: bytes) -> tuple[str, bytes]:
    """The job's name and the nonce.

    Raises:
        ProtocolError: it is not a greeting of this version, or the name is not valid.
    """
    if received.startswith(HANDSHAKE):
        raise ProtocolError("it speaks TLS, which this daemon was not told to")
    if len(received) != GREETING_BYTES or not received.startswith(_MAGIC):
        raise ProtocolError("not a rank of this version of plink")
    name = received[len(_MAGIC) : -NONCE_BYTES].rstrip(b"\0").decode("ascii", "replace")
    if not is_job_name(name):
        raise ProtocolError("a job's name has letters, digits, '_', '.' and '-', at most 64")
    return name, received[-NONCE_BYTES:]


@dataclass(frozen=True)
class Proofs:
    """What both ends say and share once they have each other's nonce.

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
        return proof(self.secret, "daemon", self.job, self.nonces)

    @property
    def of_rank(self) -> bytes:
        """The rank's proof."""
        return proof(self.secret, "rank", self.job, self.nonces)

    @property
    def session_key(self) -> bytes:
        """For `Channel`."""
        return proof(self.secret, "session", self.job, self.nonces)

    def check(self, given: bytes, expected: bytes) -> None:
        """Refuse a wrong proof.

        Raises:
            ProtocolError: it is wrong.
        """
        if not is_proof(given, expected):
            raise ProtocolError(f"job {self.job} has another secret there")


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
        part = received_from(connection, size_bytes - len(received))
        if not part and received.startswith(ALERT):
            raise ProtocolError("the autotuner speaks TLS, which this end was not told to")
        if not part:
            raise ConnectionResetError("the autotuner has closed the connection: another job?")
        received += part
    return received
