"""A server: its doors, its event loops, and the services that it has."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

from plink.base.errors import PlinkError
from plink.engine.congestion import congestion_control, systems_congestion_control
from plink.hub import _native
from plink.hub.serving.callers import Control, greeted
from plink.hub.serving.conversation import converse
from plink.hub.serving.options import ServerOptions, cores_of_ports
from plink.hub.serving.registry import Registry
from plink.hub.session.data import DataHello
from plink.hub.session.roles import PEER
from plink.transport.addresses import format_address, parse_address

_BACKLOG = 4096
_HANDSHAKE_S = 10.0
# Between two looks at what ports carry.
_LOOK_S = 0.02


class Server:
    """Serves until it is closed, in threads of its own."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._listeners: list[socket.socket] = []
        self._loops: list[_native.Loop] = []
        self._thread: threading.Thread | None = None
        self._shell: _Shell | None = None

    @property
    def addresses(self) -> list[str]:
        """Where it listens, by port."""
        return [format_address(*listener.getsockname()[:2]) for listener in self._listeners]

    def start(self) -> None:
        """Begin to serve.

        Raises:
            PlinkError: an address is not this host's, or taken.
        """
        options = self._options
        try:
            for address in options.listen:
                self._listeners.append(_listening(address))
        except PlinkError:
            self.close()
            raise
        events = _native.Events()
        self._loops = [_native.Loop(events, core) for core in options.pinned_cores()]
        cores = cores_of_ports(len(self._listeners), len(self._loops))
        weights = list(options.weights) or [1.0] * len(cores)
        near = congestion_control(None, systems_congestion_control())
        line = _native.LineOptions(near.near or "", near.far or "", options.send_buffer_bytes)
        registry = Registry(
            options.secret,
            loops=self._loops,
            cores=cores,
            weights=weights,
            addresses=self.addresses,
            snapshots=options.snapshots,
            line=line,
            window_s=options.window_s,
        )
        looks = options.window_s > 0.0 and len(self._listeners) > 1
        self._shell = _Shell(registry, events, self._listeners, line, looks=looks)
        self._thread = threading.Thread(target=self._shell.run, name="plink-hub", daemon=True)
        self._thread.start()
        self._shell.is_ready.wait()

    def close(self) -> None:
        """End all connections, and free all memory."""
        if self._thread is not None and self._shell is not None:
            self._shell.stop()
            self._thread.join()
            self._thread = None
        for loop in self._loops:
            loop.stop()
        self._loops = []
        for listener in self._listeners:
            listener.close()
        self._listeners = []

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Shell:
    """What runs in the thread for all that is rare."""

    def __init__(
        self,
        registry: Registry,
        events: _native.Events,
        listeners: list[socket.socket],
        line: _native.LineOptions,
        *,
        looks: bool,
    ) -> None:
        self._looks = looks
        self.is_ready = threading.Event()
        self._registry = registry
        self._events = events
        self._listeners = listeners
        self._line = line
        self._callers: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        asyncio.run(self._serve())

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._loop.add_reader(self._events.fd(), self._hear)
        doors = [asyncio.create_task(self._welcome(listener)) for listener in self._listeners]
        if self._looks:
            doors.append(asyncio.create_task(self._look()))
        self.is_ready.set()
        await self._stopped.wait()
        self._loop.remove_reader(self._events.fd())
        self._registry.close()
        for task in [*doors, *self._callers]:
            task.cancel()
        await asyncio.gather(*doors, *self._callers, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            self._registry.look(asyncio.get_running_loop().time())

    def _hear(self) -> None:
        for event in self._events.take():
            self._registry.hear(event)

    async def _welcome(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, address = await loop.sock_accept(listener)
            task = asyncio.create_task(self._attend(connection, address[0]))
            self._callers.add(task)
            task.add_done_callback(self._callers.discard)

    async def _attend(self, connection: socket.socket, host: str) -> None:
        with connection, contextlib.suppress(OSError, PlinkError, asyncio.TimeoutError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            beginning = greeted(connection, self._registry.secret_of, self._registry.opened)
            caller = await asyncio.wait_for(beginning, _HANDSHAKE_S)
            if isinstance(caller, DataHello):
                tenant = self._registry.tenant(caller.namespace)
                if caller.role == PEER and tenant.peers is not None:
                    tenant.peers.adopt(caller.number, caller.connection, connection.fileno())
                    return
                tenant.adopt(caller.number, caller.connection, connection.fileno(), self._line)
                return
            await converse(Control(connection, caller, host), self._registry)


def _listening(address: str) -> socket.socket:
    host, port = parse_address(address, "a server's address")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise PlinkError(
            f"cannot listen on {address}: {error.strerror or error}",
            "give an address of this host, and a port that is free or 0",
        ) from None
    return listener
