"""Who may create services creates them, looks at them and deletes them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from plink.base.errors import PlinkError, WrongUseError
from plink.hub.calling import Control
from plink.hub.placement import Sites
from plink.hub.service import ServiceOptions
from plink.hub.session.handshake import NO_NAMESPACE
from plink.hub.session.messages import Ask, Create, Delete, Message, Status
from plink.hub.session.roles import ADMIN, SALT_BYTES, namespace_secret
from plink.transport.frames import ProtocolError

_TIMEOUT_S = 30.0


def create_service(
    servers: Sequence[str], secret: bytes, options: ServiceOptions, *, salt: bytes | None = None
) -> bytes:
    """A new service on all of these servers.

    Args:
        servers: their addresses, HOST:PORT, in the order in which workers name them.
        secret: of the servers.
        options: of the service.
        salt: of its secret, `SALT_BYTES`; None for a new one.

    Returns:
        The secret that its workers need.

    Raises:
        HubError: a server cannot be reached or refuses; none has the service then.
        ProtocolError: a server has another secret.
    """
    if not servers:
        raise WrongUseError("a service without servers")
    found = [server_status(server, secret) for server in servers]
    sites = Sites(tuple(status.site.servers[0] for status in found))
    addresses = tuple(status.addresses for status in found)
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    made: list[str] = []
    try:
        for number, server in enumerate(servers):
            _ask(server, secret, Create(options, salt, sites, addresses, number))
            made.append(server)
    except PlinkError:
        for server in made:
            _ask(server, secret, Delete(options.namespace))
        raise
    return namespace_secret(secret, options.namespace, salt)


def delete_service(servers: Sequence[str], secret: bytes, namespace: str) -> None:
    """End a service; its workers are told.

    Raises:
        HubError: a server cannot be reached, or has no such service.
        ProtocolError: a server has another secret.
    """
    for server in servers:
        _ask(server, secret, Delete(namespace))


def server_status(server: str, secret: bytes, namespace: str = "") -> Status:
    """A server's ports and services, or one of these.

    Raises:
        HubError: it cannot be reached, or has no such service.
        ProtocolError: it has another secret.
    """
    answer = _ask(server, secret, Ask(namespace))
    if not isinstance(answer, Status):
        raise ProtocolError(f"the hub at {server} answers something else")
    return answer


def _ask(server: str, secret: bytes, message: Message) -> Message:
    control = Control(server, ADMIN, NO_NAMESPACE, secret, _TIMEOUT_S)
    try:
        return control.ask(message)
    finally:
        control.close()
