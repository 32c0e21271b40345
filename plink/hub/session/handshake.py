"""Handshake of control connections: both ends prove that they know the caller's secret.

The caller's role is in its greeting and in every proof, so that what proves a worker of a service
says nothing for an administrator. Who asks for a namespace that is not there is answered like one
who has the wrong secret: names of others' services are nobody's business.
"""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass

from plink.hub.session.roles import ADMIN, CALLERS, PEER, WORKER, FindSecret
from plink.transport.encryption import HANDSHAKE
from plink.transport.frames import Channel, ProtocolError
from plink.transport.proofs import (
    CHALLENGE_BYTES,
    NONCE_BYTES,
    Greeting,
    is_proof,
    proof,
    received_whole,
)

SERVER_NAME = "the hub"
"""What messages to callers call a server."""

# Of the name in a greeting where the caller is of no namespace.
NO_NAMESPACE = "hub"

_MAGIC = b"plinkhub\x01"
_GREETINGS = {
    role: Greeting(_MAGIC + role[:1].encode(), "worker or administrator", "namespace")
    for role in CALLERS
}
GREETING_BYTES = _GREETINGS[ADMIN].size_bytes


@dataclass(frozen=True)
class Session:
    """Session of two ends that have authenticated each other.

    Args:
        role: of the caller, one of `CALLERS`.
        namespace: of the service; for an administrator and a peer `NO_NAMESPACE`.
        channel: for messages on this connection.
        data_key: with which the connections for data of this session are proven.
    """

    role: str
    namespace: str
    channel: Channel
    data_key: bytes


class Reception:
    """Server end of a control connection's handshake, without its socket.

    Args:
        find_secret: what the caller has to prove.
    """

    def __init__(self, find_secret: FindSecret) -> None:
        self._find_secret = find_secret
        self._role = ""
        self._namespace = ""
        self._secret = b""
        self._nonces = b""

    def greet(self, greeting: bytes) -> bytes:
        """Return the challenge to a greeting of `GREETING_BYTES`.

        Raises:
            ProtocolError: it is none.
        """
        if greeting.startswith(HANDSHAKE):
            raise ProtocolError("it speaks TLS, which this server was not told to")
        role, self._namespace, nonce = parse_greeting(greeting)
        # Nobody can prove what nobody knows.
        found = self._find_secret(role, self._namespace)
        self._secret = secrets.token_bytes(32) if found is None else found
        self._role = role
        own = secrets.token_bytes(NONCE_BYTES)
        self._nonces = nonce + own
        return own + self._proof("server")

    def admit(self, answer: bytes) -> Session:
        """Check the caller's answer of `ANSWER_BYTES` and return the session.

        Raises:
            ProtocolError: it is not the right one.
        """
        if not self._nonces or not is_proof(answer, self._proof("caller")):
            raise ProtocolError(*_refusal(self._role, self._namespace))
        return _session(self._role, self._namespace, self._secret, self._nonces, is_server=True)

    def _proof(self, end: str) -> bytes:
        return proof(self._secret, _label(end, self._role, self._namespace), self._nonces)


def authenticate(
    connection: socket.socket, role: str, namespace: str, secret: bytes, server: str = SERVER_NAME
) -> Session:
    """Authenticate to a server, which authenticates itself too, and return the session.

    Args:
        connection: to the server, by TLS or not.
        role: of this end, one of `CALLERS`.
        namespace: of the service, or `NO_NAMESPACE`.
        secret: of the role.
        server: what messages call it.

    Raises:
        ProtocolError: the server does not know the secret.
        OSError: the connection is lost.
    """
    nonce = secrets.token_bytes(NONCE_BYTES)
    connection.sendall(_GREETINGS[role].pack(namespace, nonce))
    challenge = received_whole(connection, CHALLENGE_BYTES, server, "is its plink another version?")
    nonces = nonce + challenge[:NONCE_BYTES]
    label = _label("server", role, namespace)
    if not is_proof(challenge[NONCE_BYTES:], proof(secret, label, nonces)):
        raise ProtocolError(*_refusal(role, namespace))
    connection.sendall(proof(secret, _label("caller", role, namespace), nonces))
    return _session(role, namespace, secret, nonces, is_server=False)


def parse_greeting(greeting: bytes) -> tuple[str, str, bytes]:
    """Return the role, namespace and nonce of a greeting.

    Raises:
        ProtocolError: it is not a greeting of this version.
    """
    for role, form in _GREETINGS.items():
        if greeting.startswith(form.magic):
            return (role, *form.parse(greeting))
    raise ProtocolError("not a worker or administrator of this version of plink")


def _session(
    role: str, namespace: str, secret: bytes, nonces: bytes, *, is_server: bool
) -> Session:
    key = proof(secret, _label("session", role, namespace), nonces)
    data_key = proof(secret, _label("data", role, namespace), nonces)
    whose = "service" if role not in (ADMIN, PEER) else "hub"
    # Values and state that a worker reads or gives.
    takes_data = role == WORKER
    channel = Channel(key, is_server=is_server, whose=whose, takes_data=takes_data)
    return Session(role, namespace, channel, data_key)


def _label(what: str, role: str, namespace: str) -> str:
    return f"hub {what} {role} {namespace}"


def _refusal(role: str, namespace: str) -> tuple[str, str]:
    if role in (ADMIN, PEER):
        return (
            "the hub's own secret is another one there",
            "take the secret file that plink hub serve was given",
        )
    return (
        f"there is no namespace {namespace} there, or it has another secret",
        "plink hub create makes a new secret each time: workers need its last one",
    )
