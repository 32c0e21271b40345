"""What both ends say when a connection begins: who they are, and the proof of it. No sockets here.

A control connection proves the service's secret as the autotuner's ranks do theirs
(`plink.transport.proofs`). A data connection then proves the key of that session, so that nobody
else can bring gradients for a worker; each nonce of the server is used once.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass

from plink.transport.frames import ProtocolError
from plink.transport.proofs import NAME_BYTES, NONCE_BYTES, Greeting, is_name, proof

WORKER = Greeting(b"plinkhubW\x01", "worker", "service")
ADMIN = Greeting(b"plinkhubA\x01", "person", "service")
DATA_MAGIC = b"plinkhubD\x01"

MAGIC_BYTES = len(DATA_MAGIC)

_DATA = struct.Struct(f"<{MAGIC_BYTES}s{NAME_BYTES}sIII{NONCE_BYTES}s")
DATA_BYTES = _DATA.size

SERVER = "the hub"
"""What messages to workers call it."""

WELCOME = b"\x01"


@dataclass(frozen=True)
class DataHello:
    """What a data connection begins with.

    Args:
        namespace: of the service.
        worker, incarnation: who calls.
        lane: of the server that it is for.
        nonce: of the caller.
    """

    namespace: str
    worker: int
    incarnation: int
    lane: int
    nonce: bytes

    def pack(self) -> bytes:
        """As it travels."""
        name = self.namespace.encode().ljust(NAME_BYTES, b"\0")
        return _DATA.pack(
            DATA_MAGIC, name, self.worker, self.incarnation, self.lane, self.nonce
        )

    def proof(self, session_key: bytes, role: str, nonce: bytes) -> bytes:
        """What only an end that has the session's key can say.

        Args:
            session_key: of the worker's control connection.
            role: of the end that proves.
            nonce: of the server.
        """
        text = f"plink hub data {role} ".encode() + self.pack() + nonce
        return hmac.digest(session_key, text, hashlib.sha256)


def parse_data_hello(data: bytes) -> DataHello:
    """What `DataHello.pack` made.

    Raises:
        ProtocolError: it is something else.
    """
    if len(data) != DATA_BYTES or not data.startswith(DATA_MAGIC):
        raise ProtocolError("not a worker of this version of plink")
    _, name, worker, incarnation, lane, nonce = _DATA.unpack(data)
    namespace = name.rstrip(b"\0").decode("ascii", "replace")
    if not is_name(namespace):
        raise ProtocolError("a service's name has letters, digits, '_', '.' and '-'")
    return DataHello(namespace, worker, incarnation, lane, nonce)


@dataclass(frozen=True)
class Proofs:
    """What both ends of a control connection say and share.

    Args:
        secret: that both know.
        name: whose it is.
        nonces: the caller's, then the server's.
    """

    secret: bytes
    name: str
    nonces: bytes

    def of(self, role: str) -> bytes:
        """The proof of an end."""
        return proof(self.secret, f"hub {role} {self.name}", self.nonces)

    @property
    def session_key(self) -> bytes:
        """For `Channel`, and for data connections."""
        return self.of("session")


def service_secret(admin: bytes, namespace: str, salt: str) -> bytes:
    """Of a service: whoever may create services has all of theirs, and none of them travels.

    Args:
        admin: the server's secret.
        namespace: of the service.
        salt: made anew with each service.
    """
    return proof(admin, f"hub service {namespace} {salt}", b"").hex().encode()
