"""Connections from a service's first server to its other servers."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence

from plink.base.errors import PlinkError
from plink.hub.calling import Control, HubError
from plink.hub.manifest import Manifest
from plink.hub.session.handshake import NO_NAMESPACE
from plink.hub.session.messages import Create, Done, Lead, Listen, Lost, Obeyed, Order
from plink.hub.session.roles import PEER
from plink.transport.addresses import is_wildcard, parse_address
from plink.transport.frames import ProtocolError
from plink.transport.tls import Tls

_TIMEOUT_S = 30.0
# A follower that answers may not know the service yet: its maker tells one server after the other.
# The worker that comes first waits so long for a slow one.
_PATIENCE_S = 10.0
_RETRY_S = 0.05


class Follower:
    """Connections to a server that the service's first one leads; all methods block.

    Args:
        addresses: at which it may be called; the first that answers will do.
        namespace: of the service.
        secret: that servers prove to each other.
        tls: files of this server's; None for clear connections.
    """

    def __init__(
        self, addresses: Sequence[str], namespace: str, secret: bytes, tls: Tls | None
    ) -> None:
        self._addresses = addresses
        self._namespace = namespace
        self._secret = secret
        self._tls = tls
        self._orders: Control | None = None
        self._reports: Control | None = None
        self._is_over = threading.Event()

    def call(self, manifest: Manifest) -> None:
        """Connect to the follower and tell it that the first server leads it.

        Raises:
            PlinkError: it cannot be reached, or has no such service.
        """
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            self._connect_both()
            try:
                return self._lead(manifest)
            except PlinkError:
                self._hang_up()
                if time.monotonic() > until_s or self._is_over.wait(_RETRY_S):
                    raise

    def _connect_both(self) -> None:
        try:
            self._orders = self._connect()
            self._reports = self._connect()
        except PlinkError:
            self._hang_up()
            raise

    def _lead(self, manifest: Manifest) -> None:
        if self._orders is None:
            raise HubError("the service is closed")
        self._orders.ask(Lead(self._namespace, manifest))
        if self._is_over.is_set():
            raise HubError("the service is closed")

    def _connect(self) -> Control:
        *firsts, last = self._addresses
        for address in firsts:
            with contextlib.suppress(HubError):
                return self._control(address)
        return self._control(last)

    def _control(self, address: str) -> Control:
        return Control(address, PEER, NO_NAMESPACE, self._secret, _TIMEOUT_S, tls=self._tls)

    def ask(self, order: Order) -> Obeyed:
        """Send an order to the follower and return its answer.

        Raises:
            PlinkError: it is lost.
        """
        if self._orders is None:
            raise HubError("the service is closed")
        answer = self._orders.ask(order)
        if not isinstance(answer, Obeyed):
            raise ProtocolError(f"{self._orders.peer} answers something else")
        return answer

    def hear(self) -> Lost | None:
        """Return a worker that the follower reports as lost; None if none was for a while.

        Raises:
            PlinkError: it is lost, or its part of the service has failed.
        """
        if self._reports is None:
            raise HubError("the service is closed")
        answer = self._reports.ask(Listen(self._namespace))
        if not isinstance(answer, Lost | Done):
            raise ProtocolError(f"{self._reports.peer} answers something else")
        return answer if isinstance(answer, Lost) else None

    def close(self) -> None:
        """Close the connections to the follower, from any thread."""
        self._is_over.set()
        self._hang_up()

    def _hang_up(self) -> None:
        for control in (self._orders, self._reports):
            if control is not None:
                control.close()


def followers_of(create: Create, secret: bytes, tls: Tls | None) -> list[Follower]:
    """Return a service's followers if this server is its first one; else an empty list.

    Args:
        create: as the service's maker wants it.
        secret: that servers prove to each other.
        tls: files of this server's; None for clear connections.
    """
    if create.server:
        return []
    named = zip(create.servers, create.addresses, strict=True)
    return [
        Follower(_ways(name, ports[0]), create.options.namespace, secret, tls)
        for name, ports in list(named)[1:]
    ]


def _ways(name: str, told: str) -> list[str]:
    """Return a server's addresses to call: as its creator named it, then its own if usable."""
    host, _ = parse_address(told, "a server's address")
    return [name] if is_wildcard(host) or told == name else [name, told]
