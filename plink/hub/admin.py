"""Create, inspect and delete services as their administrator."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from msgspec.structs import replace

from plink.base.errors import PlinkError, WrongUseError
from plink.hub.calling import Control, PastIterationError
from plink.hub.placement import Sites
from plink.hub.service import ServiceOptions
from plink.hub.session.handshake import NO_NAMESPACE
from plink.hub.session.messages import (
    Ask,
    Checkpoint,
    Create,
    Delete,
    Message,
    Restore,
    Saved,
    Status,
)
from plink.hub.session.roles import ADMIN, SALT_BYTES, namespace_secret
from plink.transport.frames import ProtocolError
from plink.transport.tls import Tls

_TIMEOUT_S = 30.0
# Servers go on while they are told of which iteration a snapshot is to be.
_MOST_AHEAD = 16


def create_service(
    servers: Sequence[str],
    secret: bytes,
    options: ServiceOptions,
    *,
    salt: bytes | None = None,
    tls: Tls | None = None,
) -> bytes:
    """Create a service on all of the given servers and return the secret for its workers.

    Args:
        servers: their addresses, HOST:PORT, in the order in which workers name them.
        secret: of the servers.
        options: of the service.
        salt: of its secret, `SALT_BYTES`; None for a new one.
        tls: files of this end's, each of which can be read; None for clear connections. The same
            holds for all functions here.

    Returns:
        The secret that its workers need.

    Raises:
        HubError: a server cannot be reached or refuses; no other that can be has the service then.
        ProtocolError: a server has another secret.
    """
    _check_servers(servers)
    found = [server_status(server, secret, tls=tls) for server in servers]
    sites = Sites(tuple(status.site.servers[0] for status in found))
    addresses = tuple(status.addresses for status in found)
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    _make(
        [
            (server, Create(options, salt.hex(), sites, addresses, number, servers=tuple(servers)))
            for number, server in enumerate(servers)
        ],
        secret,
        tls,
    )
    return namespace_secret(secret, options.namespace, salt)


def create_service_of_racks(
    racks: Sequence[str],
    secret: bytes,
    options: ServiceOptions,
    *,
    workers: Sequence[int] | None = None,
    tls: Tls | None = None,
) -> bytes:
    """Create a service with a server in each rack, which only the workers of that rack call.

    A rack's server adds up its workers' gradients, the servers add up their sums, and each steps
    all values (Luo 2020, §2.3). First values are those of the first rack's first worker.

    Args:
        racks: the address of each rack's server; all have as many ports and cores.
        secret: of the servers.
        options: of the service; `workers` are those of a rack.
        workers: of each rack, where they have not as many.

    Returns:
        The secret that its workers need.

    Raises:
        HubError: a server cannot be reached or refuses; no other that can be has the service then.
        ProtocolError: a server has another secret.
        WrongUseError: servers are not alike, there are none, or `workers` is of other racks.
    """
    _check_servers(racks)
    if workers is not None and len(workers) != len(racks):
        raise WrongUseError(f"workers of {len(workers)} racks, expected {len(racks)}")
    found = [server_status(server, secret, tls=tls) for server in racks]
    # A chunk has the same place in every rack. Weights follow what ports carry, and so may differ
    # between servers that are alike; the first's count.
    site = found[0].site
    for server, status in zip(racks, found, strict=True):
        if _cores(status) != _cores(found[0]):
            raise WrongUseError(
                f"the servers {racks[0]} and {server} have other numbers of ports or cores",
                "a service in racks needs servers that are alike: plink hub serve takes both",
            )
    ports = tuple(status.addresses for status in found)
    salt = secrets.token_bytes(SALT_BYTES)
    creates = []
    for rack, (server, own_ports) in enumerate(zip(racks, ports, strict=True)):
        its = options if workers is None else replace(options, workers=workers[rack])
        creates.append((server, Create(its, salt.hex(), site, (own_ports,), 0, ports, rack)))
    _make(creates, secret, tls)
    return namespace_secret(secret, options.namespace, salt)


def _make(creates: Sequence[tuple[str, Create]], secret: bytes, tls: Tls | None) -> None:
    """Create a service's parts on all of its servers, or on none if one of them fails."""
    made: list[str] = []
    try:
        for server, create in creates:
            _ask(server, secret, tls, create)
            made.append(server)
    except PlinkError:
        # Why it failed is told, not that a server which has the service is lost meanwhile.
        with suppress(PlinkError):
            delete_service(made, secret, create.options.namespace, tls=tls)
        raise


def _check_servers(servers: Sequence[str]) -> None:
    if not servers:
        raise WrongUseError("no server is given")


def _cores(status: Status) -> list[int]:
    return [port.cores for port in status.site.servers[0]]


def delete_service(
    servers: Sequence[str], secret: bytes, namespace: str, *, tls: Tls | None = None
) -> None:
    """Delete a service on all of its servers, which tell its workers that it has ended.

    Raises:
        HubError: a server cannot be reached, or has no such service; all others have ended it.
        ProtocolError: a server has another secret.
    """
    errors = []
    for server in servers:
        try:
            _ask(server, secret, tls, Delete(namespace))
        except PlinkError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def server_status(
    server: str, secret: bytes, namespace: str = "", *, tls: Tls | None = None
) -> Status:
    """Return a server's ports and the status of all its services, or of the named one only.

    Raises:
        HubError: it cannot be reached, or has no such service.
        ProtocolError: it has another secret.
    """
    answer = _ask(server, secret, tls, Ask(namespace))
    if not isinstance(answer, Status):
        raise ProtocolError(f"the hub at {server} answers something else")
    return answer


def checkpoint(
    servers: Sequence[str], secret: bytes, namespace: str, *, tls: Tls | None = None
) -> list[Saved]:
    """Save a service's state on all servers at the end of one iteration, while workers go on.

    Returns:
        By server, the file that it has written to its folder.

    Raises:
        HubError: a server cannot be reached or refuses.
        ProtocolError: a server has another secret.
    """
    _check_servers(servers)
    if len(servers) == 1:
        return [_save(servers[0], secret, tls, Checkpoint(namespace))]
    for ahead in range(_MOST_AHEAD):
        found = [
            server_status(server, secret, namespace, tls=tls).services[0] for server in servers
        ]
        iteration = max(service.iteration for service in found) + ahead
        asked = Checkpoint(namespace, iteration)
        with ThreadPoolExecutor(len(servers)) as pool:
            saved = [pool.submit(_save, server, secret, tls, asked) for server in servers]
        errors = [future.exception() for future in saved]
        if not any(errors):
            return [future.result() for future in saved]
        if not all(error is None or isinstance(error, PastIterationError) for error in errors):
            break
    raise next(error for error in errors if error is not None)


def restore(
    servers: Sequence[str], secret: bytes, namespace: str, snapshot: str, *, tls: Tls | None = None
) -> None:
    """Let a new service start from a snapshot, before any worker has joined.

    Args:
        servers: of the service.
        secret: of the servers.
        namespace: of the service, which no worker has joined.
        snapshot: what the names of its files begin with; all of them lie in each server's folder.

    Raises:
        HubError: a server cannot be reached or refuses.
        ProtocolError: a server has another secret.
    """
    _check_servers(servers)
    for server in servers:
        _ask(server, secret, tls, Restore(namespace, snapshot))


def _save(server: str, secret: bytes, tls: Tls | None, asked: Checkpoint) -> Saved:
    answer = _ask(server, secret, tls, asked)
    if not isinstance(answer, Saved):
        raise ProtocolError(f"the hub at {server} answers something else")
    return answer


def _ask(server: str, secret: bytes, tls: Tls | None, message: Message) -> Message:
    control = Control(server, ADMIN, NO_NAMESPACE, secret, _TIMEOUT_S, tls=tls)
    try:
        return control.ask(message)
    finally:
        control.close()
