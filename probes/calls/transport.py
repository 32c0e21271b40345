"""Connection of a call, whose thread sleeps while no data arrive."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress

import paramiko

# Every failure is told in a sentence; paramiko's own log would repeat it as a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_SIGN_EVERY_S = 15
# How late a sign of life may come.
_LATE_S = 5.0
# Nothing has to be looked for; should a wake-up ever be missed, this is how long it matters.
_LOOK_EVERY_S = 60.0
_PROBE_EVERY_S = 5


class CallTransport(paramiko.Transport):
    """SSH connection that is cheap to keep waiting, so that many can.

    paramiko's own looks ten times a second whether this end has closed it; this one is woken.

    Args:
        connection: to the other end.
    """

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection)
        self._connection = connection

    def rest(self, *, gives_signs: bool) -> None:
        """Sleep until data arrive; the kernel detects the loss of the other end.

        For the time after the hand-shake, which notices by looking often that it takes too long.

        Args:
            gives_signs: whether this end says now and then that it is there, which keeps proxies
                from ending the call; one end of each is enough.
        """
        tcp = socket.IPPROTO_TCP
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connection.setsockopt(tcp, socket.TCP_KEEPIDLE, _SIGN_EVERY_S)
        self._connection.setsockopt(tcp, socket.TCP_KEEPINTVL, _PROBE_EVERY_S)
        if gives_signs:
            self.set_keepalive(_SIGN_EVERY_S)
        self._connection.settimeout(_LATE_S if gives_signs else _LOOK_EVERY_S)

    def close(self) -> None:
        """End the connection and everything that runs over it."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        super().close()
