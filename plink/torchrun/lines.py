"""Echo agents of other hosts at the ends of connections, as probing speaks with them over SSH."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

from plink.probes.errors import HostError
from plink.probes.ssh.session import MAX_LINE, Completed

_LOST = "the connection was lost"


class Line:
    """What `plink.probes.ssh.session.RemoteProcess` is over SSH."""

    def __init__(self, host: str, connection: socket.socket) -> None:
        self.host = host
        self._connection = connection

    def write(self, text: str) -> None:
        """Send text to its standard input.

        Raises:
            HostError: the connection is gone.
        """
        try:
            self._connection.sendall(text.encode())
        except OSError:
            raise HostError(self.host, _LOST) from None

    def lines(self) -> Iterator[str]:
        """The lines of its standard output, until it ends.

        Raises:
            HostError: it sends what is not a line of text, or the connection is lost.
        """
        with self._connection.makefile("rb") as stream:
            while line := stream.readline(MAX_LINE):
                try:
                    yield line.decode().rstrip("\r\n")
                except UnicodeDecodeError:
                    raise HostError(self.host, "sent bytes that are not text") from None

    def stderr_tail(self) -> str:
        """Nothing: that stays on its host."""
        return ""

    def wait_for_exit(self, timeout_s: float) -> int | None:
        """It has ended when it hangs up, which who reads its lines waits for."""
        del timeout_s
        return None

    def abandon(self) -> None:
        """Hang up, whatever it does."""
        self.close()

    def close(self) -> None:
        """Hang up: it ends."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


class LineSession:
    """What `plink.probes.ssh.session.Session` is over SSH: the echo agent has been started."""

    def __init__(self, host: str, connection: socket.socket) -> None:
        self.host = host
        self._connection = connection

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        """Whatever is asked before an echo agent is started: it is there."""
        del command, stdin, timeout_s
        return Completed(0, b"plink-program:here\n", "")

    def start(self, command: str) -> Line:
        """The conversation with the echo agent."""
        del command
        return Line(self.host, self._connection)
