"""Connecting to a service, which the first worker makes where it may."""

from __future__ import annotations

from collections.abc import Sequence

from plink.hub.manifest import Manifest
from plink.hub.service import ServiceOptions
from plink.hub.worker import Worker


def connected(
    servers: Sequence[str],
    secret: bytes,
    asked: ServiceOptions,
    manifest: Manifest,
    *,
    creates: bool,
    timeout_s: float | None,
) -> Worker:
    """A worker of the service that was asked for.

    Args:
        servers: "host:port" of each.
        secret: of the namespace.
        asked: how the service works; its number of workers counts only where it is created.
        manifest: what it holds.
        creates: make the service if it is not there.
        timeout_s: of connecting and steps; None for the worker's own.

    Raises:
        WrongUseError: the service works otherwise.
        PlinkError: it cannot be reached.
    """
    raise NotImplementedError
