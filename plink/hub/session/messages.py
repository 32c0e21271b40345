"""The messages of control connections, as JSON objects; all hostile until parsed.

Numbers of values never travel here, except a manifest's. A server parses what a caller may say in
its role and nothing else; a caller what servers say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from plink.hub.manifest import Manifest
from plink.hub.placement import Sites
from plink.hub.service import ServiceOptions
from plink.hub.session.leading import Lead, Listen, Lost, Obeyed, Order
from plink.hub.session.recall import Load, Numbers, Read, Recall, Recalled, Write


@dataclass(frozen=True)
class Create:
    """An administrator makes a service.

    Args:
        options: of it.
        salt: of its secret (`namespace_secret`), from the administrator.
        sites: ports and cores of all its servers, as each has told.
        addresses: of each server's ports; the first is its control address.
        server: which of them this one is.
        racks: where each rack has a server, the addresses of its ports; each of these is then the
            only server of its rack's workers. Empty where there are no racks.
        rack: which of them this server is of.
        servers: where there are several, the control address of each as the maker calls it; the
            first one calls the others there.
    """

    options: ServiceOptions
    salt: bytes
    sites: Sites
    addresses: tuple[tuple[str, ...], ...]
    server: int
    racks: tuple[tuple[str, ...], ...] = ()
    rack: int = 0
    servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Delete:
    """An administrator ends a service; its workers are told."""

    namespace: str


@dataclass(frozen=True)
class Ask:
    """How a service is doing; with an empty name an administrator asks for all."""

    namespace: str = ""


@dataclass(frozen=True)
class Checkpoint:
    """Write a snapshot at the end of an iteration.

    Args:
        namespace: of the service.
        iteration: None for the earliest that is possible; servers of a service need the same.
    """

    namespace: str
    iteration: int | None = None


@dataclass(frozen=True)
class Restore:
    """Take values, state and iteration from a snapshot, before any worker is there.

    Args:
        namespace: of the service.
        snapshot: name of a file in the server's folder of snapshots; no path.
    """

    namespace: str
    snapshot: str


@dataclass(frozen=True)
class Join:
    """A worker wants to contribute.

    Args:
        digest: of its manifest.
        manifest: itself, where it is the first or was asked for it.
        worker: its number, where it comes back or another server has given it; None for a new one.
        incarnation: that it had, or that the other server has given it.
        is_back: whether it was lost and comes back.
    """

    digest: str
    manifest: Manifest | None = None
    worker: int | None = None
    incarnation: int = 0
    is_back: bool = False


@dataclass(frozen=True)
class Leave:
    """A worker is done.

    Args:
        iteration: the last to which it has contributed, some of which may be on its way.
    """

    iteration: int


@dataclass(frozen=True)
class PeerReady:
    """A server of the same service is there.

    Args:
        namespace: of the service.
        server: which it is.
        placement: digest of what it has computed.
    """

    namespace: str
    server: int
    placement: str


@dataclass(frozen=True)
class Done:
    """Confirmation that a request was carried out."""


@dataclass(frozen=True)
class NeedManifest:
    """The server has none yet: join again, with it."""


@dataclass(frozen=True)
class Joined:
    """A worker is in.

    Args:
        worker: its number.
        incarnation: from now on.
        workers: how many contribute.
        iteration: the first in which its contribution counts.
        source: whether the service takes first values from this worker.
        options: of the service.
        sites: ports and cores of all servers.
        addresses: of each server's ports, for data.
        placement: digest of where chunks live.
    """

    worker: int
    incarnation: int
    workers: int
    iteration: int
    source: bool
    options: ServiceOptions
    sites: Sites
    addresses: tuple[tuple[str, ...], ...]
    placement: str


@dataclass(frozen=True)
class Saved:
    """A snapshot is written.

    Args:
        snapshot: name of its file.
        iteration: at whose end.
        sha256: of the file, 64 hexadecimal digits.
        size_bytes: of the file.
    """

    snapshot: str
    iteration: int
    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Status:
    """How a server and its services are doing.

    Args:
        site: its ports and cores, as the only server.
        addresses: of its ports.
        services: an object for each, as `plink hub status --json` prints it.
    """

    site: Sites
    addresses: tuple[str, ...]
    services: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Failure:
    """Failure of a request, or of the service.

    Args:
        sentence: for people.
        hint: what they can do, or None.
        is_final: whether the service has failed, and not only what was asked for.
    """

    sentence: str
    hint: str | None = None
    is_final: bool = False


Message = (
    Create
    | Delete
    | Ask
    | Checkpoint
    | Restore
    | Join
    | Leave
    | Recall
    | Read
    | Write
    | Load
    | PeerReady
    | Lead
    | Order
    | Obeyed
    | Listen
    | Lost
    | Done
    | NeedManifest
    | Joined
    | Recalled
    | Numbers
    | Saved
    | Status
    | Failure
)
