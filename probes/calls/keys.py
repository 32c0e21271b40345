"""SSH keys of both ends, derived from their shared secret.

HKDF with SHA-256 (RFC 5869) makes two Ed25519 keys of the secret: the agent shows the one as the
host's key, plink logs in with the other. Who does not know the secret has neither.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

_SEED_BYTES = 32


@dataclass(frozen=True)
class Keys:
    """SSH keys that both ends derive from the secret.

    Args:
        agent: the key of every agent.
        coordinator: the key of plink, with which it logs in.
    """

    agent: paramiko.Ed25519Key
    coordinator: paramiko.Ed25519Key


def derive_keys(secret: bytes) -> Keys:
    """Return the SSH keys derived from a secret."""
    return Keys(_derive_key(secret, b"plink agent"), _derive_key(secret, b"plink coordinator"))


def _derive_key(secret: bytes, purpose: bytes) -> paramiko.Ed25519Key:
    seed = HKDF(algorithm=SHA256(), length=_SEED_BYTES, salt=None, info=purpose).derive(secret)
    text = Ed25519PrivateKey.from_private_bytes(seed).private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )
    return paramiko.Ed25519Key.from_private_key(io.StringIO(text.decode()))
