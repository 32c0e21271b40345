"""Who may create services creates them, looks at them and deletes them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from plink.base.errors import WrongUseError
from plink.hub.calling import Session
from plink.hub.service import ServiceOptions
from plink.hub.serving.hello import ADMIN, service_secret

_TIMEOUT_S = 30.0
_ANY = "hub"


def create_service(servers: Sequence[str], secret: bytes, options: ServiceOptions) -> bytes:
    """A new service on all of these servers.

    Args:
        servers: their addresses, HOST:PORT, in the order that workers will name them in.
        secret: of the servers.
        options: of the service.

    Returns:
        The secret that its workers need.

    Raises:
        HubError: a server cannot be reached or refuses; none has the service then.
    """
    if not servers:
        raise WrongUseError("a service without servers")
    salt = secrets.token_hex(16)
    message = {"what": "create", "options": options.to_json(), "salt": salt}
    made: list[str] = []
    try:
        for server in servers:
            _ask(server, secret, options.namespace, message)
            made.append(server)
    except Exception:
        for server in made:
            _ask(server, secret, options.namespace, {"what": "delete"})
        raise
    return service_secret(secret, options.namespace, salt)


def delete_service(servers: Sequence[str], secret: bytes, namespace: str) -> None:
    """End a service; its workers are told.

    Raises:
        HubError: a server cannot be reached, or has no such service.
    """
    for server in servers:
        _ask(server, secret, namespace, {"what": "delete"})


def server_status(server: str, secret: bytes) -> dict[str, Any]:
    """A server's addresses and services.

    Raises:
        HubError: it cannot be reached.
    """
    answer = _ask(server, secret, _ANY, {"what": "status"})
    return {"addresses": answer["addresses"], "services": answer["services"]}


def _ask(server: str, secret: bytes, name: str, message: dict[str, Any]) -> dict[str, Any]:
    session = Session(server, ADMIN, name, secret, _TIMEOUT_S)
    try:
        return session.ask(message)
    finally:
        session.close()
