"""A server: its doors, its event loops, and the services that it has."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import threading
from typing import Any

from plink.base.errors import PlinkError
from plink.engine.congestion import congestion_control, systems_congestion_control
from plink.files.fields import Fields
from plink.hub import _native
from plink.hub.manifest import manifest_from_json
from plink.hub.placement import sites_from_json
from plink.hub.service import ServiceOptions, options_from_json
from plink.hub.serving.hello import (
    ADMIN,
    WELCOME,
    WORKER,
    parse_data_hello,
    service_secret,
)
from plink.hub.serving.options import ServerOptions, cores_of_ports
from plink.hub.serving.session import Session, exactly, opening, proven
from plink.hub.serving.tenant import Member, ServiceError, Tenant
from plink.transport.addresses import format_address, parse_address
from plink.transport.frames import ProtocolError
from plink.transport.proofs import NONCE_BYTES, PROOF_BYTES, is_proof

_BACKLOG = 4096
_HANDSHAKE_S = 10.0

# As `Event::What`.
_LOST, _FAULT, _FILLED, _MISSED = range(4)


class Server:
    """Serves until it is closed, in threads of its own."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._cores = cores_of_ports(len(options.listen), options.loops())
        near = congestion_control(None, systems_congestion_control())
        self._line = _native.LineOptions(
            near.near or "", near.far or "", options.send_buffer_bytes
        )
        self._events = _native.Events()
        self._loops: list[_native.Loop] = []
        self._tenants: dict[str, Tenant] = {}
        self._salts: dict[str, str] = {}
        self._numbers = 0
        self._listeners: list[socket.socket] = []
        self._callers: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    @property
    def addresses(self) -> list[str]:
        """Where it listens, by port."""
        return [format_address(*listener.getsockname()[:2]) for listener in self._listeners]

    def start(self) -> None:
        """Begin to serve.

        Raises:
            PlinkError: an address is not this host's, or taken.
        """
        try:
            for address in self._options.listen:
                self._listeners.append(_listening(address))
        except PlinkError:
            self.close()
            raise
        pins = self._options.pinned_cores()
        self._loops = [_native.Loop(self._events, core) for core in pins]
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait()

    def close(self) -> None:
        """End all connections, and free all memory."""
        if self._thread is not None and self._loop is not None and self._stopped is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()
            self._thread = None
        for listener in self._listeners:
            listener.close()
        for loop in self._loops:
            loop.stop()
        self._loops = []

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self) -> None:
        """Until it is closed by another thread."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._loop.add_reader(self._events.fd(), self._hear)
        doors = [asyncio.create_task(self._welcome(listener)) for listener in self._listeners]
        ready.set()
        await self._stopped.wait()
        self._loop.remove_reader(self._events.fd())
        for task in [*doors, *self._callers]:
            task.cancel()
        await asyncio.gather(*doors, *self._callers, return_exceptions=True)

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
            session = await asyncio.wait_for(self._greet(connection, host), _HANDSHAKE_S)
            if session is not None:
                await session

    async def _greet(self, connection: socket.socket, host: str) -> Any:
        """What is to be awaited with the caller; None where it is only handed on."""
        data = await opening(connection)
        if data.startswith(WORKER.magic):
            session = await proven(connection, WORKER, data, self._secret_of, host)
            return self._serve_worker(session)
        if data.startswith(ADMIN.magic):
            admin = self._options.secret
            session = await proven(connection, ADMIN, data, lambda _: admin, host)
            return self._serve_admin(session)
        await self._adopt(connection, data)
        return None

    def _secret_of(self, name: str) -> bytes:
        tenant = self._tenants.get(name)
        # A stranger does not learn which services there are.
        return tenant.secret if tenant is not None else secrets.token_bytes(32)

    async def _adopt(self, connection: socket.socket, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        hello = parse_data_hello(data)
        tenant = self._tenants.get(hello.namespace)
        member = tenant.members.get(hello.worker) if tenant is not None else None
        if tenant is None or member is None or member.incarnation != hello.incarnation:
            raise ProtocolError("a data connection of nobody")
        nonce = secrets.token_bytes(NONCE_BYTES)
        key = member.session_key
        await loop.sock_sendall(connection, nonce + hello.proof(key, "server", nonce))
        answer = await exactly(connection, PROOF_BYTES)
        if not is_proof(answer, hello.proof(key, "worker", nonce)):
            raise ProtocolError("a data connection without the session's key")
        if tenant.members.get(hello.worker) is not member:
            raise ProtocolError("a data connection of nobody")
        await loop.sock_sendall(connection, WELCOME)
        tenant.adopt(member, hello.lane, connection.fileno(), self._line)

    async def _serve_worker(self, session: Session) -> None:
        tenant = self._tenants[session.name]
        member: Member | None = None
        try:
            while (message := await session.receive()) is not None:
                fields = Fields(message, "a worker's message")
                what = fields.text("what")
                try:
                    if what == "join" and member is None:
                        member, answer = self._join(tenant, fields, session)
                    elif what == "place":
                        answer = self._place(tenant, fields)
                    elif what == "leave" and member is not None:
                        tenant.left(member)
                        member = None
                        return
                    else:
                        raise ProtocolError(f"a message of kind {what[:40]!r}")
                except PlinkError as error:
                    await session.send({"what": "refused", "why": str(error), "hint": error.hint})
                    return
                await session.send(answer)
        finally:
            if member is not None:
                tenant.lost(member.number, member.incarnation, "it closed the connection")

    def _join(
        self, tenant: Tenant, fields: Fields, session: Session
    ) -> tuple[Member, dict[str, Any]]:
        manifest = manifest_from_json(fields.object("manifest"))
        number = fields.values.get("number")
        wanted = fields.integer("number", 0, tenant.options.workers - 1) if number is not None else None
        member = tenant.join(manifest, wanted, session.host, session.key)
        weights = list(self._options.weights) or [1.0] * len(self._cores)
        return member, {
            "what": "welcome",
            "number": member.number,
            "incarnation": member.incarnation,
            "options": tenant.options.to_json(),
            "ports": [
                {"address": address, "cores": len(cores), "weight": weight}
                for address, cores, weight in zip(
                    self.addresses, self._cores, weights, strict=True
                )
            ],
        }

    def _place(self, tenant: Tenant, fields: Fields) -> dict[str, Any]:
        sites = sites_from_json(fields.object("sites"))
        server = fields.integer("server", 0, len(sites.servers) - 1)
        tenant.place(sites, server, fields.text("digest"))
        return {
            "what": "placed",
            "iteration": tenant.status()["iteration"],
            "has_values": tenant.has_values,
        }

    async def _serve_admin(self, session: Session) -> None:
        while (message := await session.receive()) is not None:
            fields = Fields(message, "a person's message")
            try:
                answer = self._administer(session.name, fields)
            except PlinkError as error:
                answer = {"what": "refused", "why": str(error), "hint": error.hint}
            await session.send(answer)

    def _administer(self, name: str, fields: Fields) -> dict[str, Any]:
        what = fields.text("what")
        if what == "create":
            self._create(options_from_json(fields.object("options")), fields.text("salt"))
            return {"what": "created"}
        if what == "delete":
            tenant = self._tenants.pop(name, None)
            if tenant is None:
                raise ServiceError(f"there is no service {name}")
            tenant.fail("the service is deleted")
            tenant.close()
            return {"what": "deleted"}
        if what == "status":
            return {
                "what": "status",
                "addresses": self.addresses,
                "services": [tenant.status() for tenant in self._tenants.values()],
            }
        raise ProtocolError(f"a message of kind {what[:40]!r}")

    def _create(self, options: ServiceOptions, salt: str) -> None:
        name = options.namespace
        if name in self._tenants:
            raise ServiceError(f"there is a service {name} already", "delete it first")
        secret = service_secret(self._options.secret, name, salt)
        self._numbers += 1
        self._tenants[name] = Tenant(self._numbers, options, secret, self._loops, self._cores)

    def _hear(self) -> None:
        by_number = {tenant.number: tenant for tenant in self._tenants.values()}
        for event in self._events.take():
            tenant = by_number.get(event.tenant)
            if tenant is None:
                continue
            if event.what in (_LOST, _FAULT):
                tenant.lost(event.worker, event.incarnation, event.text)
            elif event.what == _FILLED:
                tenant.filled(event.lane)
            elif event.what == _MISSED:
                tenant.fail(event.text)


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
