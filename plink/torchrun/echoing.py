"""An agent's end of measuring: an echo agent on this host, at the other end of a connection."""

from __future__ import annotations

import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass

from plink.probes.echo.deploy import ECHO_AGENT

_CONNECT_S = 10.0
_MOST_GREETING = 256


@dataclass(frozen=True)
class Door:
    """Where the agent that conducts the measurement listens, and what it expects to be told.

    Args:
        address, port: of its listening socket.
        secret: known to the agents of the round alone.
    """

    address: str
    port: int
    secret: str


def take_part(door: Door, number: int) -> None:
    """Run an echo agent that is told what to do through the door, until that hangs up.

    An agent that cannot take part hangs up: it then is a host that was not measured.
    """
    with suppress(OSError):
        address = (door.address, door.port)
        with socket.create_connection(address, timeout=_CONNECT_S) as connection:
            connection.settimeout(None)
            connection.sendall(greeting(number, door.secret))
            # Its standard input ends, and hence it does, when the other end hangs up.
            subprocess.run(
                [ECHO_AGENT.file],
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                stderr=subprocess.DEVNULL,
                check=False,
            )


def greeting(number: int, secret: str) -> bytes:
    """What an agent says first."""
    return f"{number} {secret}\n".encode()


def greeted(connection: socket.socket, secret: str) -> int | None:
    """The number of the agent that calls; None for a stranger."""
    said = b""
    while not said.endswith(b"\n"):
        if len(said) > _MOST_GREETING or not (byte := connection.recv(1)):
            return None
        said += byte
    number, _, rest = said.decode(errors="replace").strip().partition(" ")
    return int(number) if number.isdecimal() and rest == secret else None
