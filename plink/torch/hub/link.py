"""Connection of a worker to a service, which the first worker creates where it may."""

from __future__ import annotations

import time
from collections.abc import Sequence

from plink.base.errors import WrongUseError
from plink.hub.admin import create_service, server_status
from plink.hub.calling import HubError
from plink.hub.manifest import Manifest
from plink.hub.service import ServiceOptions
from plink.hub.session.roles import namespace_secret
from plink.hub.worker import Worker, WorkerOptions
from plink.transport.frames import ProtocolError
from plink.transport.tls import Tls

# Of services that workers make, `SALT_BYTES` long: all find the secret from the servers' own.
SALT = b"made by a worker"
# How long the first worker may take to make the service on all servers.
_MAKING_S = 10.0
_PAUSE_S = 0.05

# What a service must have as it was asked for; and what it may have without being asked.
_EQUAL = ("optimizer", "mode", "staleness", "clip_norm", "wire")
_ENOUGH = ("skip_nonfinite", "deterministic")


def connect_worker(
    servers: Sequence[str],
    secret: bytes,
    asked: ServiceOptions,
    manifest: Manifest,
    *,
    creates: bool,
    options: WorkerOptions,
) -> Worker:
    """Connect a worker to a service, and create the service first if asked to.

    Args:
        servers: "host:port" of each.
        secret: of the namespace; of the servers where it `creates`.
        asked: how the service works; its workers and what follows on losses count only where it is
            created.
        manifest: what it holds.
        creates: make the service if it is not there.
        options: of the worker.

    Raises:
        WrongUseError: the service works otherwise.
        HubError: it cannot be reached.
    """
    if creates:
        _make(servers, secret, asked, options.tls)
        secret = namespace_secret(secret, asked.namespace, SALT)
    worker = _join_service(servers, asked.namespace, secret, manifest, options, patient=creates)
    try:
        verify(asked, worker.service, creates=creates)
    except WrongUseError:
        worker.close()
        raise
    return worker


def verify(asked: ServiceOptions, found: ServiceOptions, *, creates: bool) -> None:
    """Check that a service has the options that a worker asks for.

    Raises:
        WrongUseError: it does not.
    """
    names = [name for name in _EQUAL if getattr(asked, name) != getattr(found, name)]
    names += [name for name in _ENOUGH if getattr(asked, name) and not getattr(found, name)]
    if creates:
        made = ("workers", "on_loss", "grace_s")
        names += [name for name in made if getattr(asked, name) != getattr(found, name)]
    for name in names:
        raise WrongUseError(
            f"service '{found.namespace}' has {name} {getattr(found, name)}, and this worker asks "
            f"for {getattr(asked, name)}",
            "delete it, or ask for what it has",
        )


def _make(servers: Sequence[str], secret: bytes, asked: ServiceOptions, tls: Tls | None) -> None:
    if _is_there(servers[0], secret, asked.namespace, tls):
        return
    try:
        create_service(servers, secret, asked, salt=SALT, tls=tls)
    except HubError:
        # Another worker was quicker.
        if not _is_there(servers[0], secret, asked.namespace, tls):
            raise


def _is_there(server: str, secret: bytes, namespace: str, tls: Tls | None) -> bool:
    services = server_status(server, secret, tls=tls).services
    return any(service.namespace == namespace for service in services)


def _join_service(
    servers: Sequence[str],
    namespace: str,
    secret: bytes,
    manifest: Manifest,
    options: WorkerOptions,
    *,
    patient: bool,
) -> Worker:
    ends_s = time.monotonic() + (_MAKING_S if patient and len(servers) > 1 else 0.0)
    while True:
        try:
            return Worker(servers, namespace, secret, manifest, options)
        except (HubError, ProtocolError):
            # Later servers may not have it yet.
            if time.monotonic() >= ends_s:
                raise
            time.sleep(_PAUSE_S)


def steps_taken(worker: Worker, *, is_under_way: bool) -> int:
    """Return the number of the last step whose values a worker has; 0 for the first values.

    Args:
        worker: who has started.
        is_under_way: it has begun one for which it has not waited.
    """
    return worker.iteration - 1 - is_under_way
