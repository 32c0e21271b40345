"""How both ends of a connection prove that they know a secret, and where secrets lie.

The calling end sends magic and version, a name and a nonce; the server a nonce and its proof; the
caller its own. A proof is HMAC-SHA256 (RFC 2104) over a role and both nonces. Every step has a
fixed length, so that a stranger can neither send nor ask for more.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from plink.base.errors import WrongUseError
from plink.base.opening import open_input
from plink.transport.encryption import ALERT, receive
from plink.transport.frames import ProtocolError

NONCE_BYTES = 32
PROOF_BYTES = 32
NAME_BYTES = 64

CHALLENGE_BYTES = NONCE_BYTES + PROOF_BYTES
ANSWER_BYTES = PROOF_BYTES

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

_LEAST_BYTES = 16
_MOST_BYTES = 4096
_MOST_FILE_BYTES = 1 << 20


def checked_secret(secret: bytes, source: str) -> bytes:
    """Return the secret without white space around it.

    Raises:
        WrongUseError: it is too short or too long; `source` is what the message calls it.
    """
    stripped = secret.strip()
    if not _LEAST_BYTES <= len(stripped) <= _MOST_BYTES:
        raise WrongUseError(
            f"{source}: holds a secret of {len(stripped)} bytes, "
            f"expected {_LEAST_BYTES} to {_MOST_BYTES}",
            "openssl rand -hex 32 makes one",
        )
    return stripped


def read_secret(path: str) -> bytes:
    """Return the secret in a file; white space around it does not count.

    Raises:
        WrongUseError: the file cannot be read, or the secret is too short or too long.
    """
    try:
        with open_input(path, _MOST_FILE_BYTES) as stream:
            return checked_secret(stream.read(_MOST_BYTES + 1), path)
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}") from None


def new_secret() -> bytes:
    """Return a secret of 256 random bits, as text."""
    return secrets.token_hex(32).encode()


def make_secret(path: str, secret: bytes | None = None) -> bytes:
    """A secret in a new file that only its owner reads; a new one of 256 bits, if none is given.

    Raises:
        WrongUseError: the file cannot be made or written; then it is not there.
    """
    secret = new_secret() if secret is None else secret
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secret + b"\n")
        except BaseException:
            Path(path).unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise WrongUseError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return secret


def is_name(name: str) -> bool:
    """Letters, digits, `_`, `.` and `-`, 64 at most."""
    return len(name) <= NAME_BYTES and _NAME.fullmatch(name) is not None


def proof(secret: bytes, label: str, nonces: bytes) -> bytes:
    """Return the proof that only an end with the secret can compute.

    Args:
        secret: that both ends know.
        label: the program, the role of the end that proves, so that no end can be sent its own
            proof, and the name whose secret it is.
        nonces: the caller's, then the server's.
    """
    return hmac.digest(secret, f"plink {label} ".encode() + nonces, hashlib.sha256)


def is_proof(given: bytes, expected: bytes) -> bool:
    """Compare without telling how much agrees."""
    return hmac.compare_digest(given, expected)


@dataclass(frozen=True)
class Greeting:
    """Greeting of a caller: magic and version, a name, a nonce.

    Args:
        magic: of the protocol and its version.
        caller: what messages call whoever speaks it.
        what: has a name, as messages call it.
    """

    magic: bytes
    caller: str
    what: str

    @property
    def size_bytes(self) -> int:
        """Size of the greeting."""
        return len(self.magic) + NAME_BYTES + NONCE_BYTES

    def pack(self, name: str, nonce: bytes) -> bytes:
        """Encode the greeting."""
        return self.magic + name.encode().ljust(NAME_BYTES, b"\0") + nonce

    def parse(self, data: bytes) -> tuple[str, bytes]:
        """Return the name and the nonce.

        Raises:
            ProtocolError: it is not a greeting of this version, or the name is not valid.
        """
        if len(data) != self.size_bytes or not data.startswith(self.magic):
            raise ProtocolError(f"not a {self.caller} of this version of plink")
        name = data[len(self.magic) : -NONCE_BYTES].rstrip(b"\0").decode("ascii", "replace")
        if not is_name(name):
            raise ProtocolError(
                f"a {self.what}'s name has letters, digits, '_', '.' and '-', at most {NAME_BYTES}"
            )
        return name, data[-NONCE_BYTES:]


def received_whole(connection: socket.socket, size_bytes: int, server: str, hint: str) -> bytes:
    """Receive exactly so many bytes from a server during the handshake.

    Args:
        connection: to it.
        size_bytes: how many.
        server: what messages call it.
        hint: a question to ask where it closes the connection.

    Raises:
        ProtocolError: it speaks TLS.
        OSError: the connection is lost.
    """
    data = b""
    while len(data) < size_bytes:
        part = receive(connection, size_bytes - len(data), server)
        if not part and data.startswith(ALERT):
            raise ProtocolError(f"{server} speaks TLS, which this end was not told to")
        if not part:
            raise ConnectionResetError(f"{server} has closed the connection: {hint}")
        data += part
    return data
