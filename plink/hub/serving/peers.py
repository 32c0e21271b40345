"""Servers of other racks, as a service at one server sees them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from plink.base.errors import PlinkError
from plink.hub import _native
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.lanes import Lanes
from plink.hub.serving.racks import Call, Peer, call, close_all
from plink.hub.session.data import Nonces, Opened
from plink.hub.session.messages import Create, PeerReady
from plink.transport.tls import Tls

# For the first worker of every other rack to be there.
_PATIENCE_S = 600.0


class Peers:
    """Connections of a service to other racks' servers; each server calls those of lower racks.

    Args:
        create: of the service.
        secret: that servers prove to each other.
        lanes: of the service at this server.
        line: what connections get.
        tls: files of this server's; None for clear connections.
    """

    def __init__(
        self,
        create: Create,
        secret: bytes,
        lanes: Lanes,
        line: _native.LineOptions,
        tls: Tls | None = None,
    ) -> None:
        self._create = create
        self._secret = secret
        self._lanes = lanes
        self._line = line
        self._tls = tls
        self._placement = ""
        self._opened: dict[int, Opened] = {}
        self._called: list[Peer] = []
        self._is_over = threading.Event()
        self._calls: list[asyncio.Task[None]] = []

    def open(self, placement: str, fail: Callable[[str], None]) -> None:
        """Call the servers of lower racks, now that this server's lanes are open.

        Args:
            placement: its digest.
            fail: what to do where one cannot be reached.
        """
        self._placement = placement
        for rack in range(self._create.rack):
            self._calls.append(asyncio.create_task(self._call(rack, fail)))

    def greet(self, ready: PeerReady, data_key: bytes) -> None:
        """Record that another rack's server has called.

        Raises:
            ServiceError: no worker of this rack is there yet, or it has other chunks.
        """
        if not self._placement:
            raise ServiceError("no worker of this rack is there yet")
        if not self._create.rack < ready.server < len(self._create.racks):
            raise ServiceError(f"there is no rack {ready.server} to call")
        if ready.placement != self._placement:
            raise ServiceError("workers of different racks have other keys, or servers other ports")
        self._opened[ready.server] = Opened(data_key, Nonces())

    def opened(self, rack: int) -> Opened | None:
        """Return the session that a peer's data connections must prove; None before it calls."""
        return self._opened.get(rack)

    def adopt(self, rack: int, lane: int, fd: int) -> None:
        """Hand a lane an authenticated data connection from another rack's server.

        Raises:
            ServiceError: it is for chunks that are not here.
        """
        if not self._lanes.is_open(lane):
            raise ServiceError("a connection for chunks that are not here")
        self._lanes.adopt_peer(lane, rack, fd, self._line, is_caller=False)

    def close(self) -> None:
        """Close all connections to other racks' servers."""
        self._is_over.set()
        for task in self._calls:
            task.cancel()
        close_all(self._called)

    async def _call(self, rack: int, fail: Callable[[str], None]) -> None:
        create = self._create
        addresses = create.racks[rack]
        what = Call(
            addresses[0],
            addresses,
            create.racks[create.rack],
            rack,
            create.options.namespace,
            self._secret,
            create.rack,
            self._placement,
            self._lanes.ports(),
            self._tls,
        )
        try:
            peer = await asyncio.to_thread(call, what, _PATIENCE_S, self._is_over)
        except PlinkError as error:
            if not self._is_over.is_set():
                fail(f"the server of rack {rack} cannot be reached: {error}")
            return
        self._called.append(peer)
        try:
            with contextlib.suppress(RuntimeError):
                for lane, connection in peer.sockets.items():
                    fd = connection.fileno()
                    self._lanes.adopt_peer(lane, rack, fd, self._line, is_caller=True)
        finally:
            peer.close_data()
