"""Control thread of a server: new callers, their messages, events of its loops, metrics."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from plink.base.errors import PlinkError
from plink.base.text import printable
from plink.hub import _native
from plink.hub.serving.callers import Control, greet
from plink.hub.serving.conversation import converse
from plink.hub.serving.registry import Registry
from plink.hub.serving.stream import Stream
from plink.hub.session.data import DataHello
from plink.hub.session.handshake import Session
from plink.hub.session.roles import PEER
from plink.transport.addresses import format_address
from plink.transport.door import Caller, Door, most_strangers, source_of
from plink.transport.folding import Folding
from plink.transport.listening import Acceptor

_HANDSHAKE_S = 10.0
# Between two looks at what ports carry.
_LOOK_S = 0.02
# Workers that begin at once, with some connections for data each.
_MOST_EXPECTED = 256

BeginMetrics = Callable[[Registry, "Doors"], Awaitable[Acceptor]]


@dataclass
class Doors:
    """Unauthenticated connections at a server's ports, and counts of those that were dropped.

    Args:
        say: told a sentence of connections that are dropped.
    """

    say: Callable[[str], None]
    door: Door = field(default_factory=lambda: Door(most_strangers(_MOST_EXPECTED)))
    dropped: int = 0
    """Connections that were closed because of what the other end said, or did not say."""
    mute: int = 0
    """Dropped connections whose other end had not even said who it was."""

    def __post_init__(self) -> None:
        self.folding = Folding(self.say)

    @property
    def waiting(self) -> int:
        """Number of connections that have not proven a secret yet."""
        return self.door.count


class Shell:
    """Control thread of a server, which serves callers until it is stopped.

    Args:
        registry: of the services.
        events: of the loops.
        listeners: of the ports.
        line: what connections for data get.
        doors: of the server.
        tls: with the server's certificate; None for clear connections.
        begin_metrics: begins to serve metrics; None where nobody wants them.
        looks: whether what ports carry is looked at.
    """

    def __init__(
        self,
        registry: Registry,
        events: _native.Events,
        listeners: list[socket.socket],
        line: _native.LineOptions,
        doors: Doors,
        *,
        tls: ssl.SSLContext | None = None,
        begin_metrics: BeginMetrics | None = None,
        looks: bool = False,
    ) -> None:
        self._looks = looks
        self.is_ready = threading.Event()
        self.failure: PlinkError | None = None
        """Why it does not serve, once it is ready."""
        self._doors = doors
        self.metrics_address = ""
        self._registry = registry
        self._events = events
        self._listeners = listeners
        self._line = line
        self._tls = tls
        self._begin_metrics = begin_metrics

    def run(self) -> None:
        """Run the control loop in this thread until `stop` is called."""
        asyncio.run(self._serve())

    def stop(self) -> None:
        """Stop the control loop, from any thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        metrics: Acceptor | None = None
        try:
            if self._begin_metrics is not None:
                metrics = await self._begin_metrics(self._registry, self._doors)
                self.metrics_address = format_address(*metrics.address)
        except PlinkError as error:
            self.failure = error
            self.is_ready.set()
            return
        self._loop.add_reader(self._events.fd(), self._hear)
        acceptor = Acceptor(self._listeners, self._attend)
        looking = asyncio.create_task(self._look()) if self._looks else None
        self.is_ready.set()
        await self._stopped.wait()
        self._loop.remove_reader(self._events.fd())
        if metrics is not None:
            await metrics.close()
        self._registry.close()
        if looking is not None:
            looking.cancel()
        await acceptor.close()
        self._doors.folding.close()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self._registry.look(asyncio.get_running_loop().time())

    def _hear(self) -> None:
        for event in self._events.take():
            self._registry.hear(event)

    async def _attend(self, connection: socket.socket, address: tuple[str, int]) -> None:
        host, peer = address[0], format_address(*address)
        caller = self._doors.door.enter(source_of(host), lambda: _cut(connection))
        stream = Stream(connection)
        proven = await self._authenticate(stream, connection, caller, peer)
        if proven is None:
            return
        try:
            if isinstance(proven, DataHello):
                self._adopt(proven, connection.fileno())
            else:
                await converse(Control(stream, proven, host), self._registry)
        except PlinkError as error:
            self._doors.dropped += 1
            self._doors.folding.dropped(peer, caller.source, printable(str(error)))
        except OSError:
            pass  # It has gone.

    async def _authenticate(
        self, stream: Stream, connection: socket.socket, caller: Caller, peer: str
    ) -> Session | DataHello | None:
        """Authenticate a caller; return its session or hello, or None if it proves nothing."""
        doors = self._doors
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            beginning = greet(
                stream,
                self._registry.secret_of,
                self._registry.opened,
                lambda: doors.door.greeted(caller),
                self._tls,
            )
            return await asyncio.wait_for(beginning, _HANDSHAKE_S)
        except PlinkError as error:
            why = printable(str(error))
        except asyncio.TimeoutError:
            why = "it said nothing in time"
        except OSError:
            if not caller.is_dismissed:
                return None  # It has gone.
            why = "it said nothing while others waited"
        finally:
            doors.door.left(caller)
        doors.dropped += 1
        doors.mute += not caller.has_greeted
        doors.folding.dropped(peer, caller.source, why)
        return None

    def _adopt(self, hello: DataHello, fd: int) -> None:
        tenant = self._registry.tenant(hello.namespace)
        if hello.role == PEER and tenant.peers is not None:
            tenant.peers.adopt(hello.number, hello.connection, fd)
        else:
            tenant.adopt(hello, fd, self._line)


def _cut(connection: socket.socket) -> None:
    """Shut a connection down, which wakes whoever waits for its data."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
