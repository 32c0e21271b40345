"""Registry of a server's services: create, find and delete them. Without sockets."""

from __future__ import annotations

import asyncio

from plink.hub import _native
from plink.hub.placement import Port, Sites
from plink.hub.porting import Porting
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.followers import followers_of
from plink.hub.serving.lanes import Lanes
from plink.hub.serving.peers import Peers
from plink.hub.serving.saving import read_snapshot, save
from plink.hub.serving.tenant import Tenant
from plink.hub.session.data import DataHello, Opened
from plink.hub.session.messages import Checkpoint, Create, Delete, Restore, Saved, Status
from plink.hub.session.roles import ADMIN, PEER, WORKER, namespace_secret, peer_secret
from plink.transport.frames import ProtocolError
from plink.transport.tls import Tls

# For workers to take what a service that is deleted says last.
_FAREWELL_S = 5.0
_LOOK_S = 0.02


class Registry:
    """Registry of a server's services, by name.

    Args:
        secret: of whoever may make and end them.
        loops: of the server.
        cores: the loops of each port.
        weights: of the ports.
        addresses: of the ports.
        snapshots: folder of these; None for none.
        line: what connections to other servers get.
        tls: files of the server's, for its calls to others; None for clear ones.
        window_s: of how long what ports carry is judged.
    """

    def __init__(
        self,
        secret: bytes,
        *,
        loops: list[_native.Loop],
        cores: list[list[int]],
        weights: list[float],
        addresses: list[str],
        snapshots: str | None,
        line: _native.LineOptions,
        tls: Tls | None = None,
        window_s: float,
    ) -> None:
        self._secret = secret
        self._loops = loops
        self._cores = cores
        self._addresses = addresses
        self._snapshots = snapshots
        self._line = line
        self._tls = tls
        self._porting = Porting(weights, window_s)
        self._tenants: dict[str, Tenant] = {}
        self._numbers = 0
        self._ending: set[asyncio.Task[None]] = set()

    def _site(self) -> tuple[Port, ...]:
        weights = self._porting.weights
        return tuple(map(Port, map(len, self._cores), weights))

    def look(self, now_s: float) -> None:
        """Sample what ports have carried, from which services created later get their weights."""
        if not self._tenants:
            return
        by_tenant = [tenant.carried_bytes() for tenant in self._tenants.values()]
        by_port = zip(*by_tenant, strict=True)
        carried = [(sum(its[0] for its in port), sum(its[1] for its in port)) for port in by_port]
        self._porting.look(now_s, carried)

    def secret_of(self, role: str, namespace: str) -> bytes | None:
        """Return the secret that a caller of a role must prove; None if there is none."""
        if role == ADMIN:
            return self._secret
        if role == PEER:
            return peer_secret(self._secret)
        tenant = self._tenants.get(namespace)
        return tenant.secret if tenant is not None and role == WORKER else None

    def opened(self, hello: DataHello) -> Opened | None:
        """Return the session that a data connection must prove; None if there is none."""
        tenant = self._tenants.get(hello.namespace)
        if tenant is None:
            return None
        if hello.role == PEER:
            return tenant.peers.opened(hello.number) if tenant.peers is not None else None
        return tenant.opened(hello.number, hello.incarnation)

    def tenant(self, namespace: str) -> Tenant:
        """Return a service by its name.

        Raises:
            ServiceError: there is none.
        """
        if namespace not in self._tenants:
            raise ServiceError(
                f"there is no service {namespace}",
                "plink hub status shows which there are, and plink hub create makes one",
            )
        return self._tenants[namespace]

    def tenants(self) -> list[Tenant]:
        """Return all current services."""
        return list(self._tenants.values())

    def create(self, create: Create) -> None:
        """Create a service on this server.

        Raises:
            ServiceError: there is one of that name, or it is for other ports than this server's.
        """
        name = create.options.namespace
        if name in self._tenants:
            raise ServiceError(f"there is a service {name} already", "plink hub delete ends it")
        servers = create.sites.servers
        if create.server >= len(servers) or len(create.addresses) != len(servers):
            raise ProtocolError("a service of servers that are not named")
        # Weights may have changed since the maker asked for them; those that it says count.
        if [port.cores for port in servers[create.server]] != [len(its) for its in self._cores]:
            raise ServiceError("this server has other ports than the service's maker thinks")
        racks = create.racks
        if racks and (len(servers) > 1 or create.rack >= len(racks)):
            raise ProtocolError("a rack with more than one server, or that is not named")
        if racks and (create.options.mode != "sync" or create.options.on_loss != "fail"):
            raise ServiceError("a service over racks needs mode sync and on_loss fail")
        if len(servers) > 1 and len(create.servers) != len(servers):
            raise ProtocolError("a service of servers that are not named")
        self._numbers += 1
        secret = namespace_secret(self._secret, name, bytes.fromhex(create.salt))
        places = (max(1, len(racks)), create.rack)
        lanes = Lanes(self._numbers, create.options, self._loops, self._cores, places)
        peers = (
            Peers(create, peer_secret(self._secret), lanes, self._line, self._tls)
            if racks
            else None
        )
        followers = []
        if len(servers) > 1:
            followers = followers_of(create, peer_secret(self._secret), self._tls)
        self._tenants[name] = Tenant(create, secret, lanes, peers, followers)

    def delete(self, delete: Delete) -> None:
        """End a service and free its name at once.

        Iterations that are under way do not end: whoever deletes may do so since they hang.

        Raises:
            ServiceError: there is none.
        """
        tenant = self.tenant(delete.namespace)
        where = f", in iteration {tenant.iteration}" if tenant.iteration else ""
        tenant.fail(f"service {delete.namespace} was deleted{where}")
        del self._tenants[delete.namespace]
        task = asyncio.create_task(_end(tenant))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def status(self, namespace: str) -> Status:
        """Return the status of one service, or of all."""
        tenants = [self.tenant(namespace)] if namespace else list(self._tenants.values())
        return Status(
            Sites((self._site(),)),
            tuple(self._addresses),
            tuple(tenant.status() for tenant in tenants),
        )

    async def checkpoint(self, asked: Checkpoint) -> Saved:
        """Write this server's part of a service's snapshot, while workers go on.

        Raises:
            PlinkError: it cannot be had, or not be written.
        """
        folder = self._folder()
        part = await self.tenant(asked.namespace).part(asked.iteration)
        return await asyncio.to_thread(save, folder, part)

    async def restore(self, asked: Restore) -> None:
        """Let a new service start from a snapshot in this server's folder.

        Raises:
            PlinkError: it is not there, not whole or of another service, or it is too late.
        """
        snapshot = await asyncio.to_thread(read_snapshot, self._folder(), asked.snapshot)
        self.tenant(asked.namespace).restore(snapshot)

    def _folder(self) -> str:
        if self._snapshots is None:
            raise ServiceError(
                "this server keeps no snapshots", "start it with a folder for snapshots"
            )
        return self._snapshots

    def close(self) -> None:
        """Close all services' connections to other servers."""
        for tenant in self._tenants.values():
            tenant.hang_up()

    def hear(self, event: _native.Event) -> None:
        """Pass an event of an event loop to the service that it concerns."""
        for tenant in self._tenants.values():
            if tenant.number == event.tenant:
                tenant.hear(event)


async def _end(tenant: Tenant) -> None:
    """Free a service once no worker is connected, at the latest after `_FAREWELL_S`."""
    try:
        until_s = asyncio.get_running_loop().time() + _FAREWELL_S
        while tenant.is_connected and asyncio.get_running_loop().time() < until_s:
            await asyncio.sleep(_LOOK_S)
    finally:
        tenant.close()
