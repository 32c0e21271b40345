"""Connections to the echo agents of other hosts, used as SSH sessions are elsewhere."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

from plink.probes.errors import HostError
from plink.probes.remote.session import LOST, Completed, RemoteProcess, Session

_CHUNK = 1 << 16


class Line(RemoteProcess):
    """Connection to a host's echo agent, used as a remote process."""

    def __init__(self, host: str, connection: socket.socket) -> None:
        super().__init__(host)
        self._connection = connection

    def write_bytes(self, content: bytes) -> None:
        """Send bytes to the echo agent's standard input.

        Raises:
            HostError: the connection is gone.
        """
        try:
            self._connection.sendall(content)
        except OSError:
            raise HostError(self.host, LOST) from None

    def chunks(self) -> Iterator[bytes]:
        """Yield the echo agent's standard output as it comes, until it ends.

        Raises:
            HostError: the connection is lost.
        """
        try:
            while chunk := self._connection.recv(_CHUNK):
                yield chunk
        except OSError:
            raise HostError(self.host, LOST) from None

    def end_input(self) -> None:
        """Close the echo agent's standard input, which ends the agent."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def stderr_tail(self) -> str:
        """Return an empty text: the agent's standard error stays on its host."""
        return ""

    def wait_for_exit(self, timeout_s: float) -> int | None:
        """Return None at once: the agent's exit status does not come over the connection."""
        del timeout_s
        return None

    def close(self) -> None:
        """Shut the connection down, which ends the echo agent."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """Shut the connection down, whatever the echo agent is doing."""
        self.close()


class LineSession(Session):
    """Session with a host whose process has started an echo agent and connected it."""

    def __init__(self, host: str, address: str, connection: socket.socket) -> None:
        super().__init__(host, address)
        self._connection = connection

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        """Answer any command as if the echo agent's program was found installed."""
        del command, stdin, timeout_s
        return Completed(0, b"plink-program:here\n", "")

    def start(self, command: str, timeout_s: float = 30.0) -> Line:
        """Return the connection to the host's echo agent, which runs already."""
        del command, timeout_s
        return Line(self.host, self._connection)

    def close(self) -> None:
        """Close the connection to the host's echo agent."""
        Line(self.host, self._connection).close()
        self._connection.close()
