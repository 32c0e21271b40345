"""Connections between the servers of a service's racks; each chunk's root is one of them."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from plink.base.errors import PlinkError
from plink.hub.calling import Control, data_connection
from plink.hub.session.data import DataHello, new_nonce
from plink.hub.session.handshake import NO_NAMESPACE
from plink.hub.session.messages import PeerReady
from plink.hub.session.roles import PEER
from plink.transport.addresses import is_wildcard, parse_address
from plink.transport.tls import Tls

_TIMEOUT_S = 10.0
_RETRY_S = 0.2


@dataclass
class Peer:
    """Connections to another rack's server.

    Args:
        rack: which.
        control: stays open as long as the service.
        sockets: by lane.
    """

    rack: int
    control: Control
    sockets: dict[int, socket.socket] = field(default_factory=dict)

    def close_data(self) -> None:
        """Close the Python sockets for data, which the native code has duplicated."""
        for connection in self.sockets.values():
            connection.close()
        self.sockets = {}


@dataclass(frozen=True)
class Call:
    """Parameters of a call to the server of another rack.

    Args:
        address: of that server's control.
        addresses: of its ports.
        own_addresses: of the caller's ports, as many.
        rack: that it is of.
        namespace: of the service.
        secret: that servers prove to each other.
        own_rack: of the caller.
        placement: its digest.
        lanes: that have chunks, and the port of each.
        tls: files of the caller's; None for clear connections.
    """

    address: str
    addresses: tuple[str, ...]
    own_addresses: tuple[str, ...]
    rack: int
    namespace: str
    secret: bytes
    own_rack: int
    placement: str
    lanes: tuple[tuple[int, int], ...]
    tls: Tls | None = None


def call(what: Call, seconds: float, is_over: threading.Event) -> Peer:
    """Connect to another rack's server, retrying until it has the service open.

    Args:
        what: to say to whom.
        seconds: how long to try.
        is_over: set where nobody needs it any more.

    Raises:
        PlinkError: it does not in time.
    """
    until_s = time.monotonic() + seconds
    while True:
        try:
            peer = _call_peer(what)
        except PlinkError:
            if time.monotonic() > until_s or is_over.wait(_RETRY_S):
                raise
            continue
        if not is_over.is_set():
            return peer
        close_all([peer])
        raise PlinkError("the service is closed")


def _call_peer(what: Call) -> Peer:
    control = Control(what.address, PEER, NO_NAMESPACE, what.secret, _TIMEOUT_S, tls=what.tls)
    peer = Peer(what.rack, control)
    try:
        control.ask(PeerReady(what.namespace, what.own_rack, what.placement))
        for lane, port in what.lanes:
            hello = DataHello(PEER, what.namespace, what.own_rack, 0, lane, new_nonce())
            key = control.session.data_key
            peer.sockets[lane] = data_connection(
                what.addresses[port], hello, key, _TIMEOUT_S, _source(what.own_addresses[port])
            )
    except BaseException:
        close_all([peer])
        raise
    return peer


def _source(address: str) -> str | None:
    """Return the host of a port's address to call from; None where it is a wildcard.

    So both directions of a lane's traffic use the lane's own port.
    """
    host, _ = parse_address(address, "a server's own address")
    return None if is_wildcard(host) else host


def close_all(peers: Iterable[Peer]) -> None:
    """Close all connections to the given peers."""
    for peer in peers:
        peer.close_data()
        with contextlib.suppress(OSError):
            peer.control.close()
