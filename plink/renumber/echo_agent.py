"""Echo agent of one host, connected to the process that conducts a measurement."""

from __future__ import annotations

import secrets
import socket
import subprocess
import time
from contextlib import suppress

from msgspec import Struct

from plink.probes.echo import ECHO_AGENT_FILE
from plink.transport.frames import ProtocolError
from plink.transport.proofs import NONCE_BYTES, PROOF_BYTES, Greeting, is_proof, proof

HANDSHAKE_S = 5.0
"""Seconds that a caller has for the whole handshake."""

_CONNECT_S = 10.0
_GREETING = Greeting(b"plinkecho\x01", "agent", "agent")


class MeasuringPort(Struct, frozen=True, forbid_unknown_fields=True):
    """The listening socket of the process that conducts a measurement.

    Args:
        address: numeric address of the socket.
        port: TCP port of the socket.
        secret: what callers prove to know; only processes of the job do.
    """

    address: str
    port: int
    secret: str


def take_part(port: MeasuringPort, number: int) -> None:
    """Run an echo agent, driven by the conducting process until that hangs up.

    A process that cannot take part hangs up: its host is then one that was not measured.

    Args:
        port: the conducting process's.
        number: of this process.
    """
    with suppress(OSError, ProtocolError):
        address = (port.address, port.port)
        with socket.create_connection(address, timeout=_CONNECT_S) as connection:
            introduce(connection, port.secret, number, time.monotonic() + HANDSHAKE_S)
            connection.settimeout(None)
            # Its standard input ends, and hence it does, when the other end hangs up.
            subprocess.run(
                [ECHO_AGENT_FILE],
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                stderr=subprocess.DEVNULL,
                check=False,
            )


def introduce(connection: socket.socket, secret: str, number: int, deadline_s: float) -> None:
    """Prove to the conducting agent that this is agent `number`, and have it prove the secret.

    The caller proves itself first: a stranger gets nothing to test guesses of the secret on.

    Args:
        connection: to the conducting agent.
        secret: of the round.
        number: of this agent.
        deadline_s: of the monotonic clock, for the whole handshake.

    Raises:
        ProtocolError: the other end does not know the secret.
        OSError: the connection is lost, or time is up.
    """
    nonce = secrets.token_bytes(NONCE_BYTES)
    connection.sendall(_GREETING.pack(str(number), nonce))
    nonces = nonce + _receive(connection, NONCE_BYTES, deadline_s)
    connection.sendall(_proof(secret, "agent", number, nonces))
    answer = _receive(connection, PROOF_BYTES, deadline_s)
    if not is_proof(answer, _proof(secret, "conductor", number, nonces)):
        raise ProtocolError("the agent that conducts the measurement has another secret")


def admit(connection: socket.socket, secret: str, deadline_s: float) -> int:
    """Authenticate an echo agent that calls and return its number.

    Args:
        connection: of the caller.
        secret: of the round.
        deadline_s: of the monotonic clock, for the whole handshake.

    Raises:
        ProtocolError: the caller is a stranger.
        OSError: it is gone, or time is up.
    """
    name, nonce = _GREETING.parse(_receive(connection, _GREETING.size_bytes, deadline_s))
    if not (name.isascii() and name.isdecimal()):
        raise ProtocolError("an agent's name is its number")
    number = int(name)
    own = secrets.token_bytes(NONCE_BYTES)
    connection.sendall(own)
    answer = _receive(connection, PROOF_BYTES, deadline_s)
    if not is_proof(answer, _proof(secret, "agent", number, nonce + own)):
        raise ProtocolError("an agent with another secret")
    connection.sendall(_proof(secret, "conductor", number, nonce + own))
    return number


def _proof(secret: str, role: str, number: int, nonces: bytes) -> bytes:
    return proof(secret.encode(), f"torchrun {role} {number}", nonces)


def _receive(connection: socket.socket, size_bytes: int, deadline_s: float) -> bytes:
    """Receive exactly `size_bytes` bytes before the deadline, however slowly they come."""
    data = b""
    while len(data) < size_bytes:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0.0:
            raise TimeoutError("the handshake took too long")
        connection.settimeout(left_s)
        part = connection.recv(size_bytes - len(data))
        if not part:
            raise ConnectionResetError("the other end has hung up")
        data += part
    return data
