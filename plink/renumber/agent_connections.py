"""Echo agents of other hosts at the ends of connections: a way into hosts, as SSH is another."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

from plink.probes.errors import HostError
from plink.probes.remote.session import LOST, Completed, RemoteProcess, Session

_CHUNK = 1 << 16


class Line(RemoteProcess):
    """The echo agent of a host."""

    def __init__(self, host: str, connection: socket.socket) -> None:
        super().__init__(host)
        self._connection = connection

    def write_bytes(self, content: bytes) -> None:
        """Send bytes to its standard input.

        Raises:
            HostError: the connection is gone.
        """
        try:
            self._connection.sendall(content)
        except OSError:
            raise HostError(self.host, LOST) from None

    def chunks(self) -> Iterator[bytes]:
        """Its standard output as it comes, until it ends.

        Raises:
            HostError: the connection is lost.
        """
        try:
            while chunk := self._connection.recv(_CHUNK):
                yield chunk
        except OSError:
            raise HostError(self.host, LOST) from None

    def end_input(self) -> None:
        """Close its standard input: it ends."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def stderr_tail(self) -> str:
        """Nothing: that stays on its host."""
        return ""

    def wait_for_exit(self, timeout_s: float) -> int | None:
        """It has ended when it hangs up, which who reads its lines waits for."""
        del timeout_s
        return None

    def close(self) -> None:
        """Hang up: it ends."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """Hang up, whatever it does."""
        self.close()


class LineSession(Session):
    """A host whose agent has started an echo agent and connected it."""

    def __init__(self, host: str, address: str, connection: socket.socket) -> None:
        super().__init__(host, address)
        self._connection = connection

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        """Whatever is asked before an echo agent is started: it is there."""
        del command, stdin, timeout_s
        return Completed(0, b"plink-program:here\n", "")

    def start(self, command: str, timeout_s: float = 30.0) -> Line:
        """The conversation with the echo agent."""
        del command, timeout_s
        return Line(self.host, self._connection)

    def close(self) -> None:
        """Hang up."""
        Line(self.host, self._connection).close()
        self._connection.close()
