"""A job's secret, and what it proves: HMAC-SHA256 (RFC 2104) both ways over both ends' nonces."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from plink.base.errors import WrongUseError

SECRET_VARIABLE = "PLINK_AUTOTUNE_SECRET"  # noqa: S105  its name, not the secret
FILE_VARIABLE = "PLINK_AUTOTUNE_SECRET_FILE"

NONCE_BYTES = 32
PROOF_BYTES = 32

_LEAST_BYTES = 16
_MOST_BYTES = 4096


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
        with Path(path).open("rb") as stream:
            return _checked(stream.read(_MOST_BYTES + 1), path)
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}") from None


def make_secret(path: str) -> bytes:
    """A new secret of 256 bits, in a new file that only its owner reads.

    Raises:
        WrongUseError: the file cannot be made.
    """
    secret = secrets.token_hex(32)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(f"{secret}\n")
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}") from None
    return secret.encode()


def proof(secret: bytes, role: str, job: str, nonces: bytes) -> bytes:
    """What an end that knows the secret can say, and nobody else.

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
