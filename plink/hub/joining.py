"""Joining of a service by a worker: ask every server, then open the data connections."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from plink.base.errors import WrongUseError
from plink.engine.congestion import congestion_control, systems_congestion_control
from plink.hub import _native
from plink.hub.calling import Control, HubError, data_connection
from plink.hub.manifest import Chunks, Manifest
from plink.hub.placement import Placement, place
from plink.hub.session.data import DataHello, new_nonce
from plink.hub.session.messages import Join, Joined, NeedManifest
from plink.hub.session.roles import WORKER
from plink.transport.addresses import format_address, is_wildcard, parse_address
from plink.transport.tls import Tls


@dataclass(frozen=True)
class Place:
    """Service that a worker joins, with the worker's manifest, timeout and TLS files.

    Args:
        servers: addresses of the service's servers, HOST:PORT, in the service's order.
        namespace: of the service.
        secret: of the service.
        manifest: of the worker.
        timeout_s: of each answer.
        tls: the worker's files, each of which can be read; None without TLS.
    """

    servers: Sequence[str]
    namespace: str
    secret: bytes
    manifest: Manifest
    timeout_s: float
    tls: Tls | None = None


@dataclass
class Connected:
    """Connections of a worker to a service's servers, with what it was told when it joined.

    Args:
        joined: what the first server said.
        chunks: of the service.
        placement: of these.
        is_source: whether a server has no values yet, and takes this worker's.
        controls: to the servers.
        sockets: for data, by loop; only to those that have chunks.
        names: the server of each loop, for people.
        data_ports: local and remote port of each data connection.
    """

    joined: Joined
    chunks: Chunks
    placement: Placement
    is_source: bool
    controls: list[Control] = field(default_factory=list)
    sockets: dict[int, socket.socket] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    data_ports: set[tuple[int, int]] = field(default_factory=set)

    def fds(self) -> list[int]:
        """Return the file descriptor of each loop's data connection; -1 where there is none."""
        loops = range(len(self.joined.sites.loops))
        return [self.sockets[loop].fileno() if loop in self.sockets else -1 for loop in loops]

    def close_data(self) -> None:
        """Close the Python sockets for data, which the native code has duplicated."""
        for connection in self.sockets.values():
            connection.close()
        self.sockets = {}


def line_options(near_buffer_bytes: int, tls: Tls | None = None) -> _native.LineOptions:
    """Build the native options of data connections, which both ends use.

    Raises:
        WrongUseError: a file of `tls` does not hold what it should.
    """
    chosen = congestion_control(None, systems_congestion_control())
    files = () if tls is None else (tls.certificate, tls.key, tls.authority)
    try:
        return _native.LineOptions(chosen.near or "", chosen.far or "", near_buffer_bytes, *files)
    except RuntimeError as error:
        raise WrongUseError(str(error)) from None


def connect(where: Place, back: Joined | None = None) -> Connected:
    """Join a service as a worker and open its data connections to every server.

    Args:
        where: the service and its servers.
        back: what the first server said when the worker took part before it was lost.

    Raises:
        HubError: a server cannot be reached or refuses.
        ProtocolError: a server has another secret.
    """
    controls: list[Control] = []
    found: Connected | None = None
    try:
        found = _join_servers(where, back, controls)
        _dial(where, found)
    except BaseException:
        if found is not None:
            found.close_data()
        for control in controls:
            control.close()
        raise
    return found


def _join_servers(where: Place, back: Joined | None, controls: list[Control]) -> Connected:
    answers: list[Joined] = []
    join = Join(where.manifest.digest)
    if back is not None:
        join = Join(where.manifest.digest, None, back.worker, back.incarnation, is_back=True)
    for address in where.servers:
        controls.append(
            Control(address, WORKER, where.namespace, where.secret, where.timeout_s, tls=where.tls)
        )
        answers.append(_ask(controls[-1], where.manifest, join))
        # The others are told what the first one has given.
        its = answers[0]
        join = Join(where.manifest.digest, None, its.worker, its.incarnation)
    first = answers[0]
    if len(where.servers) != len(first.sites.servers):
        raise HubError(
            f"service {where.namespace} has {len(first.sites.servers)} servers, "
            f"not {len(where.servers)}",
            "name all of them, in the order in which the service was made",
        )
    options = first.options
    chunks = where.manifest.chunks(options.chunk_bytes, by_key=options.granularity == "key")
    placement = place(chunks, first.sites, interfaces=options.interfaces)
    if any(answer.placement != placement.digest for answer in answers):
        raise HubError("the servers place chunks elsewhere than this worker")
    is_source = any(answer.source for answer in answers)
    names = [where.servers[loop.server] for loop in first.sites.loops]
    return Connected(first, chunks, placement, is_source, controls, {}, names)


def _ask(control: Control, manifest: Manifest, join: Join) -> Joined:
    answer = control.ask(join)
    if isinstance(answer, NeedManifest):
        answer = control.ask(replace(join, manifest=manifest))
    if not isinstance(answer, Joined):
        raise HubError(f"{control.peer} answers something else")
    return answer


def _dial(where: Place, found: Connected) -> None:
    """Open a data connection to each event loop that has chunks."""
    joined = found.joined
    for number in sorted(set(found.placement.loops.tolist())):
        server = joined.sites.loops[number].server
        port = found.placement.dialled_port(joined.worker, number)
        address = _resolve_wildcard(joined.addresses[server][port], where.servers[server])
        hello = DataHello(
            WORKER, where.namespace, joined.worker, joined.incarnation, number, new_nonce()
        )
        key = found.controls[server].session.data_key
        found.sockets[number] = data_connection(address, hello, key, where.timeout_s)
        data = found.sockets[number]
        found.data_ports.add((data.getsockname()[1], data.getpeername()[1]))


def _resolve_wildcard(address: str, server: str) -> str:
    """Return a port's address, with the server's host name in place of a wildcard."""
    host, port = parse_address(address, "a port")
    if not is_wildcard(host):
        return address
    return format_address(parse_address(server, "a server")[0], port)
