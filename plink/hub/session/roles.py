"""Roles of a server's callers, and the secret of each."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

ADMIN = "admin"
WORKER = "worker"
PEER = "peer"
SERVER = "server"

CALLERS = (ADMIN, WORKER, PEER)
"""admin: makes and ends services. worker: of one service. peer: another server of a service."""

SALT_BYTES = 16

FindSecret = Callable[[str, str], bytes | None]
"""From a role and a namespace to the secret to be proven; None where there is none."""


def namespace_secret(admin_secret: bytes, namespace: str, salt: bytes) -> bytes:
    """Derive a service's secret; its creator and servers each do, so that it never travels.

    Args:
        admin_secret: that both know.
        namespace: of the service.
        salt: `SALT_BYTES` from its maker, new for each service, so that who knew the secret of an
            earlier one of that name knows nothing of this one's.
    """
    label = b"plink hub secret of " + namespace.encode() + b" " + salt
    return hmac.digest(admin_secret, label, hashlib.sha256).hex().encode()


def peer_secret(admin_secret: bytes) -> bytes:
    """Derive the secret with which servers authenticate each other."""
    return hmac.digest(admin_secret, b"plink hub secret of servers", hashlib.sha256)
