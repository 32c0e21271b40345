"""The thread that talks to the daemon, and reconnects when it is gone."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from plink.autotune.protocol.handshake import SERVER, authenticate
from plink.autotune.protocol.messages import (
    Ask,
    Join,
    Message,
    NewPlan,
    Paused,
    Release,
    Report,
    from_json,
    to_json,
)
from plink.autotune.ranks.settings import Settings
from plink.base.descriptors import wait_readable
from plink.base.errors import PlinkError
from plink.transport.encryption import encrypt
from plink.transport.encryption import receive as received_from
from plink.transport.frames import Channel, payload_of
from plink.transport.tls import Tls

_LOG = logging.getLogger("plink.autotune")

_CONNECT_TIMEOUT_S = 10.0
_END_TIMEOUT_S = 1.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
_RECEIVED_BYTES = 1 << 16
# Reports that wait for a daemon that does not read.
_MOST_WAITING = 16

Task = Callable[[], Report | Paused | None]


class Client:
    """The connection of one rank to the daemon. It never disturbs the training.

    Args:
        settings: where the daemon is.
        secret: of the job.
        ranks: of the job.
        join: says who this rank is and what it holds.
        held: is given each plan that comes, in the thread.
        find: a plan that the daemon asks for, or None.
        released: called when the daemon no longer needs ranks to pause, or is gone.
        tls: this rank's certificate; None to talk in the clear.
    """

    def __init__(
        self,
        settings: Settings,
        secret: bytes,
        ranks: int,
        *,
        join: Callable[[], Join],
        held: Callable[[NewPlan], None],
        find: Callable[[Ask], NewPlan | None],
        released: Callable[[], None] = lambda: None,
        tls: Tls | None = None,
    ) -> None:
        self._settings = settings
        self._secret = secret
        self._tls = tls
        self._ranks = ranks
        self._join, self._held, self._find = join, held, find
        self._released = released
        self._tasks: deque[Task] = deque(maxlen=_MOST_WAITING)
        self._wake_end, self._wake_begin = os.pipe()
        os.set_blocking(self._wake_begin, False)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="plink-autotune", daemon=True)

    def start(self) -> None:
        """Begin to call the daemon."""
        self._thread.start()

    def submit(self, task: Task) -> None:
        """Have the thread run this and send its result; if too many wait, the oldest is dropped."""
        if self._is_over.is_set():
            return
        self._tasks.append(task)
        self._wake()

    def close(self) -> None:
        """End the thread, also repeatedly."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        self._wake()
        self._thread.join(_END_TIMEOUT_S)
        # A host that does not answer keeps the thread, and what it uses, a little longer.
        if not self._thread.is_alive():
            os.close(self._wake_begin)
            os.close(self._wake_end)

    def _wake(self) -> None:
        # Where the pipe is full, enough is in it.
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_begin, b".")

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        complaint = ""
        while not self._is_over.is_set():
            began = time.monotonic()
            try:
                self._converse()
            except (OSError, PlinkError) as error:
                if str(error) != complaint:
                    complaint = str(error)
                    _LOG.warning("training goes on without the autotuner: %s", complaint)
            self._released()
            if time.monotonic() - began > _LONGEST_PAUSE_S:
                pause_s = _FIRST_PAUSE_S
            self._idle(pause_s * random.uniform(0.5, 1.5))
            pause_s = min(2.0 * pause_s, _LONGEST_PAUSE_S)

    def _idle(self, seconds: float) -> None:
        """Wait, and run tasks: figures count from one to the next, even if nobody gets them."""
        until = time.monotonic() + seconds
        while not self._is_over.is_set() and (left_s := until - time.monotonic()) > 0.0:
            if wait_readable([self._wake_end], left_s):
                self._run_tasks()

    def _converse(self) -> None:
        address = (self._settings.host, self._settings.port)
        with contextlib.ExitStack() as stack:
            connection = socket.create_connection(address, _CONNECT_TIMEOUT_S)
            stack.enter_context(connection)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = stack.enter_context(encrypt(connection, self._tls, SERVER))
            channel = authenticate(connection, self._secret, self._settings.job)
            _send(connection, channel, self._join())
            while not self._is_over.is_set():
                readable = wait_readable([connection.fileno(), self._wake_end])
                if self._wake_end in readable:
                    for report in self._run_tasks():
                        _send(connection, channel, report)
                if connection.fileno() in readable:
                    received = received_from(connection, _RECEIVED_BYTES, SERVER)
                    if not received:
                        raise ConnectionResetError("the autotuner has closed the connection")
                    for message in channel.feed(received):
                        self._take(connection, channel, from_json(message, self._ranks))

    def _take(self, connection: socket.socket, channel: Channel, message: Message) -> None:
        if isinstance(message, NewPlan):
            self._held(message)
        elif isinstance(message, Release):
            self._released()
        elif isinstance(message, Ask):
            found = self._find(message)
            if found is not None:
                _send(connection, channel, found)

    def _run_tasks(self) -> list[Report | Paused]:
        os.read(self._wake_end, _RECEIVED_BYTES)
        made: list[Report | Paused] = []
        while self._tasks:
            report = self._tasks.popleft()()
            if report is not None:
                made.append(report)
        return made


def _send(connection: socket.socket, channel: Channel, message: Message) -> None:
    connection.sendall(channel.pack(payload_of(to_json(message))))
