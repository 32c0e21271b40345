"""Handshake of data connections: who calls, for which connection, and both ends' proofs.

The caller sends a hello of fixed length, the server a nonce and its proof, the caller its own. The
proofs are made with the key of the caller's control session, over the whole hello and the server's
nonce, so that nothing of it can be used for another worker, incarnation or connection. What follows
are frames of the native code, which never sees a key.
"""

from __future__ import annotations

import secrets
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass

from plink.hub.session.handshake import SERVER_NAME
from plink.hub.session.roles import PEER, WORKER
from plink.transport.frames import ProtocolError
from plink.transport.proofs import (
    CHALLENGE_BYTES,
    NAME_BYTES,
    NONCE_BYTES,
    is_name,
    is_proof,
    proof,
    received_whole,
)

_MAGIC = b"plinkhubdata\x01"
_FORM = struct.Struct(f"<{len(_MAGIC)}sc{NAME_BYTES}sHHI{NONCE_BYTES}s")
_ROLES = {WORKER: b"w", PEER: b"p"}

HELLO_BYTES = _FORM.size

MOST_NUMBER = (1 << 16) - 1
MOST_CONNECTION = (1 << 32) - 1


@dataclass(frozen=True)
class DataHello:
    """Greeting that identifies a data connection.

    Args:
        role: of the caller, worker or peer.
        namespace: of the service.
        number: of the worker, or of the peer among the servers.
        incarnation: of the worker.
        connection: its number, as of its event loop in the placement.
        nonce: of the caller, used once.
    """

    role: str
    namespace: str
    number: int
    incarnation: int
    connection: int
    nonce: bytes

    def pack(self) -> bytes:
        """Encode the hello in `HELLO_BYTES` bytes."""
        return _FORM.pack(
            _MAGIC,
            _ROLES[self.role],
            self.namespace.encode(),
            self.number,
            self.incarnation,
            self.connection,
            self.nonce,
        )


def parse_hello(data: bytes) -> DataHello:
    """Parse the output of `DataHello.pack`.

    Raises:
        ProtocolError: it is none.
    """
    if len(data) != HELLO_BYTES or not data.startswith(_MAGIC):
        raise ProtocolError("not a connection for data of this version of plink")
    _, letter, name, number, incarnation, connection, nonce = _FORM.unpack(data)
    roles = [role for role, known in _ROLES.items() if known == letter]
    namespace = name.rstrip(b"\0").decode("ascii", "replace")
    if not roles or not is_name(namespace):
        raise ProtocolError("a connection for data of no role or namespace that there could be")
    return DataHello(roles[0], namespace, number, incarnation, connection, nonce)


class Nonces:
    """Nonces that a session has used, each of which is accepted once.

    Args:
        most: of them, after which the session takes no more connections.
    """

    def __init__(self, most: int = 1 << 16) -> None:
        self._most = most
        self._used: set[bytes] = set()

    def take(self, nonce: bytes) -> None:
        """Accept a nonce that was not used before.

        Raises:
            ProtocolError: it is used, or there were too many.
        """
        if nonce in self._used:
            raise ProtocolError("a connection's nonce was used before")
        if len(self._used) >= self._most:
            raise ProtocolError(f"more than {self._most} connections for data in one session")
        self._used.add(nonce)


@dataclass(frozen=True)
class Opened:
    """Key and used nonces of the session to which a data connection belongs.

    Args:
        data_key: of the session.
        nonces: that it has used.
    """

    data_key: bytes
    nonces: Nonces


FindOpened = Callable[[DataHello], Opened | None]


class DataReception:
    """Server end of a data connection's handshake, without its socket.

    Args:
        find: the caller's session, None where there is none of that worker and incarnation.
    """

    def __init__(self, find: FindOpened) -> None:
        self._find = find
        self._hello: DataHello | None = None
        self._opened: Opened | None = None
        self._key = b""
        self._signed = b""

    def greet(self, data: bytes) -> bytes:
        """Return the challenge to a hello of `HELLO_BYTES`.

        Raises:
            ProtocolError: it is none.
        """
        self._hello = parse_hello(data)
        self._opened = self._find(self._hello)
        self._key = secrets.token_bytes(32) if self._opened is None else self._opened.data_key
        own = secrets.token_bytes(NONCE_BYTES)
        self._signed = data + own
        return own + proof(self._key, _label("server"), self._signed)

    def admit(self, answer: bytes) -> DataHello:
        """Authenticate a connection by its answer of `ANSWER_BYTES` and return its hello.

        Raises:
            ProtocolError: it proves nothing, or not for the first time.
        """
        is_right = is_proof(answer, proof(self._key, _label("caller"), self._signed))
        if self._hello is None or self._opened is None or not is_right:
            raise ProtocolError("a connection for data of no session that there is")
        self._opened.nonces.take(self._hello.nonce)
        return self._hello


def open_data(
    connection: socket.socket, hello: DataHello, data_key: bytes, server: str = SERVER_NAME
) -> None:
    """Authenticate a new data connection to a server, which authenticates itself too.

    Args:
        connection: that was just made.
        hello: which it is, with a nonce from `new_nonce`.
        data_key: of the session.
        server: what messages call it.

    Raises:
        ProtocolError: the server does not know the session.
        OSError: the connection is lost.
    """
    data = hello.pack()
    connection.sendall(data)
    challenge = received_whole(connection, CHALLENGE_BYTES, server, "has it ended the session?")
    signed = data + challenge[:NONCE_BYTES]
    if not is_proof(challenge[NONCE_BYTES:], proof(data_key, _label("server"), signed)):
        raise ProtocolError(f"{server} knows nothing of this session at that address")
    connection.sendall(proof(data_key, _label("caller"), signed))


def new_nonce() -> bytes:
    """Draw a random nonce for one connection."""
    return secrets.token_bytes(NONCE_BYTES)


def _label(end: str) -> str:
    return f"hub data {end}"
