"""Messages of control connections, each a struct; untrusted until parsed.

A message travels as a JSON object whose member `what` names its kind. Numbers of values (`data`)
are bytes, which travel behind the object. A server reads what a caller may send in its role and
nothing else; a caller reads what servers send.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from plink.base.errors import WrongUseError
from plink.base.text import printable
from plink.formats.limits import (
    Complete,
    Namespace,
    Text,
    Word,
    constrain_to_pattern,
    constrain_to_words,
)
from plink.formats.outputs import MAX_ITERATION, HubService, Sha256
from plink.formats.structs import convert
from plink.hub.manifest import MOST_ITEMS, Manifest
from plink.hub.placement import MOST_PORTS, MOST_SERVERS, Sites
from plink.hub.service import MOST_WORKERS, ServiceOptions
from plink.hub.session.data import MOST_NUMBER
from plink.hub.session.roles import ADMIN, PEER, SALT_BYTES, SERVER, WORKER
from plink.transport.addresses import parse_address
from plink.transport.frames import DATA, ProtocolError

MOST_NUMBERS_BYTES = 1 << 20
_FLOAT_BYTES = 4
_MOST_PIECES = 1 << 17
_MOST_ARRAYS = 3
_MOST_SERVICES = 1 << 16
_MOST_LETTERS = 1000

# What messages of errors call a message.
_PLACE = "a message"
_SERVICE_OR_ALL = r"^([A-Za-z0-9][A-Za-z0-9_.-]{0,63})?$(?!\n)"
_FILE_NAME = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$(?!\n)"
_SALT = rf"^[0-9a-f]{{{2 * SALT_BYTES}}}$(?!\n)"

Iteration = Annotated[int, Meta(ge=0, le=MAX_ITERATION)]
# Number or incarnation of a worker.
Number = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]
Position = Annotated[int, Meta(ge=0, le=MOST_SERVERS - 1)]
ArrayNumber = Annotated[int, Meta(ge=0, le=_MOST_ARRAYS - 1)]
Item = Annotated[int, Meta(ge=0, le=MOST_ITEMS)]
# Whole float32 numbers, little-endian.
NumberBytes = Annotated[bytes, Meta(max_length=MOST_NUMBERS_BYTES)]
FileName = Annotated[
    str,
    constrain_to_pattern(_FILE_NAME, "a file's name: letters, digits, _, . and -", max_length=200),
]
Ports = Annotated[tuple[Word, ...], Meta(min_length=1, max_length=MOST_PORTS)]
PortsByServer = Annotated[tuple[Ports, ...], Meta(min_length=1, max_length=MOST_SERVERS)]


def _name_kind(name: str) -> str:
    """Return a class's name as messages have it: `need-manifest` for `NeedManifest`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


class Message(Complete, frozen=True, tag_field="what", tag=_name_kind):
    """Base class of messages of control connections."""


class Create(Message, frozen=True):
    """Request of an administrator to create a service.

    Attributes:
        options: options of the service
        salt: hexadecimal salt of its secret (`namespace_secret`)
        sites: ports and cores of all its servers, as each reported them
        addresses: addresses of each server's ports; the first is its control address
        server: index of the receiver among the servers
        racks: where each rack has a server, the addresses of its ports; each is then the only
            server of its rack's workers. Empty where there are no racks
        rack: index of the receiver's rack
        servers: where there are several servers, the control address of each as the administrator
            calls it, by which the first one calls the others
    """

    options: ServiceOptions
    salt: Annotated[str, constrain_to_pattern(_SALT, f"{2 * SALT_BYTES} hexadecimal digits")]
    sites: Sites
    addresses: PortsByServer
    server: Position
    racks: Annotated[tuple[Ports, ...], Meta(max_length=MOST_SERVERS)] = ()
    rack: Position = 0
    servers: Annotated[tuple[Word, ...], Meta(max_length=MOST_SERVERS)] = ()

    def __post_init__(self) -> None:
        _check_addresses(chain(*self.addresses, *self.racks, self.servers))


class Delete(Message, frozen=True):
    """Request of an administrator to end a service; its workers are notified."""

    namespace: Namespace


class Ask(Message, frozen=True):
    """Request for the status of a service; of all services if the name is empty."""

    namespace: Annotated[str, constrain_to_pattern(_SERVICE_OR_ALL, "a namespace or nothing")] = ""


class Checkpoint(Message, frozen=True):
    """Request to write a snapshot at the end of an iteration.

    Attributes:
        namespace: name of the service
        iteration: iteration at whose end it is written; null for the earliest possible one. All
            servers of a service need the same
    """

    namespace: Namespace
    iteration: Iteration | None = None


class Restore(Message, frozen=True):
    """Request to take values, state and iteration from a snapshot, before any worker joins.

    Attributes:
        namespace: name of the service
        snapshot: name of a file in the server's folder of snapshots
    """

    namespace: Namespace
    snapshot: FileName


class Join(Message, frozen=True):
    """Request of a worker to contribute.

    Attributes:
        digest: SHA-256 of its manifest
        manifest: the manifest, if the worker is the first or was asked for it
        worker: its number, if it comes back or another server has given it; null for a new one
        incarnation: incarnation that it had, or that the other server has given it
        is_back: whether it was lost and comes back
    """

    digest: Sha256
    manifest: Manifest | None = None
    worker: Number | None = None
    incarnation: Number = 0
    is_back: bool = False


class Leave(Message, frozen=True):
    """Notice that a worker leaves the service.

    Attributes:
        iteration: last iteration to which it has contributed, some of which may be on its way
    """

    iteration: Iteration


class Recall(Message, frozen=True):
    """Request of a worker for values and optimizer state as one of its iterations left them."""

    iteration: Iteration


class Read(Message, frozen=True):
    """Request of a worker for a range of the state that it has recalled.

    Attributes:
        array: 0 for values, then the states in the order of `STATES`
        first, items: range of the server's numbers, in the order of its pieces
    """

    array: ArrayNumber
    first: Item
    items: Annotated[int, Meta(ge=1, le=MOST_NUMBERS_BYTES // _FLOAT_BYTES)]


class Write(Message, frozen=True):
    """Change of a range of the recalled state, addressed as in `Read`."""

    array: ArrayNumber
    first: Item
    data: NumberBytes

    def __post_init__(self) -> None:
        _check_numbers(self.data)


class Load(Message, frozen=True):
    """State that a worker recalled and changed, and that the service continues from.

    All workers send it before the next iteration; the first one's counts.

    Attributes:
        steps: steps that the optimizer has made
        digest: SHA-256 of the states, which must be equal on all workers
    """

    steps: Iteration
    digest: Sha256


class PeerReady(Message, frozen=True):
    """Notice that a server of the same service is ready.

    Attributes:
        namespace: name of the service
        server: index of the sender
        placement: SHA-256 of the placement that it has computed
    """

    namespace: Namespace
    server: Position
    placement: Sha256


class Lead(Message, frozen=True):
    """Notice that the first server of a service begins to lead the others.

    It decides who contributes to which iteration. The others obey its orders one by one, and report
    workers that they lose: it calls each of them twice, to send orders and to listen.

    Attributes:
        namespace: name of the service
        manifest: keys of the service
    """

    namespace: Namespace
    manifest: Manifest


class Order(Message, frozen=True):
    """Order of a service's first server to another of its servers.

    Attributes:
        order: what to do. seat: a worker may come, under this incarnation. cut: nothing more of it
            is taken. look: nothing. holds: report whether all of its contribution to the iteration
            is there. The others are methods of `Lanes`
        worker, incarnation, iteration, revision, sentence: arguments, where the order needs them
    """

    order: Annotated[
        str,
        constrain_to_words(
            *("seat", "cut", "look", "holds", "admit", "drop"),
            *("pass-over", "gather", "retire", "fail"),
        ),
    ]
    worker: Number = 0
    incarnation: Number = 0
    iteration: Iteration = 0
    revision: Iteration = 0
    sentence: str = ""


class Obeyed(Message, frozen=True):
    """Answer to an order.

    Attributes:
        is_done: whether it was carried out, or what it asks is so
        first, last: iterations that lanes here are in; null where there are no chunks
    """

    is_done: bool
    first: Iteration | None
    last: Iteration | None


class Listen(Message, frozen=True):
    """Request for the next worker that is lost; the answer is `Done` if none is for a while."""

    namespace: Namespace


class Lost(Message, frozen=True):
    """Notice that a worker is lost, and why."""

    worker: Number
    incarnation: Number
    sentence: str


class Done(Message, frozen=True):
    """Confirmation that a request was carried out."""


class NeedManifest(Message, frozen=True):
    """Request to join again with the manifest, as the server has none yet."""


class Joined(Message, frozen=True):
    """Confirmation that a worker has joined.

    Attributes:
        worker, incarnation: its number and incarnation from now on
        workers: number of workers that contribute
        iteration: first iteration in which its contribution counts
        source: whether the service takes first values from this worker
        options: options of the service
        sites: ports and cores of all servers
        addresses: addresses of each server's ports, for data
        placement: SHA-256 of the placement of chunks
    """

    worker: Number
    incarnation: Number
    workers: Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
    iteration: Iteration
    source: bool
    options: ServiceOptions
    sites: Sites
    addresses: PortsByServer
    placement: Sha256

    def __post_init__(self) -> None:
        _check_addresses(chain(*self.addresses))


class Recalled(Message, frozen=True):
    """Description of the state that a server offers for reading.

    Attributes:
        steps: steps that the optimizer has made
        pieces: the server's ranges of all numbers: where each begins in the flat array, its length
    """

    steps: Iteration
    pieces: Annotated[tuple[tuple[Item, Item], ...], Meta(max_length=_MOST_PIECES)]


class Numbers(Message, frozen=True):
    """Answer to `Read`: the numbers of the requested range."""

    data: NumberBytes

    def __post_init__(self) -> None:
        _check_numbers(self.data)


class Saved(Message, frozen=True):
    """Notice that a snapshot is written.

    Attributes:
        snapshot: name of its file
        iteration: iteration at whose end it was written
        sha256: SHA-256 of the file
        size_bytes: size of the file, in bytes
    """

    snapshot: FileName
    iteration: Iteration
    sha256: Sha256
    size_bytes: Iteration


class Status(Message, frozen=True):
    """Status of a server and its services.

    Attributes:
        site: its ports and cores, as the only server
        addresses: addresses of its ports
        services: status of each service
    """

    site: Sites
    addresses: Ports
    services: Annotated[tuple[HubService, ...], Meta(max_length=_MOST_SERVICES)] = ()

    def __post_init__(self) -> None:
        _check_addresses(self.addresses)


class Failure(Message, frozen=True):
    """Failure of a request.

    Attributes:
        sentence: what went wrong, for people
        hint: what they can do; null if nothing
        is_past: whether the iteration asked for is past, and a later one may do
    """

    sentence: Text
    hint: Text | None = None
    is_past: bool = False


# What each role may send.
SENT_BY: Mapping[str, Sequence[type[Message]]] = {
    ADMIN: (Create, Delete, Ask, Checkpoint, Restore),
    WORKER: (Ask, Checkpoint, Join, Leave, Recall, Read, Write, Load),
    PEER: (Checkpoint, PeerReady, Lead, Order, Listen, Done, Saved, Failure),
    SERVER: (
        PeerReady,
        Obeyed,
        Lost,
        Done,
        NeedManifest,
        Joined,
        Recalled,
        Numbers,
        Saved,
        Status,
        Failure,
    ),
}
_KINDS: Mapping[str, Mapping[object, type[Message]]] = {
    sender: {kind.__struct_config__.tag: kind for kind in kinds}
    for sender, kinds in SENT_BY.items()
}


def to_json(message: Message) -> dict[str, Any]:
    """Return the JSON object that stands for a message; only its `data` are bytes."""
    values: dict[str, Any] = msgspec.to_builtins(message, builtin_types=(bytes,))
    return values


def from_json(values: Mapping[str, Any], sender: str) -> Message:
    """Return the message that a JSON object stands for.

    Args:
        values: object from the other end.
        sender: role that the other end has proven: admin, worker, peer or server.

    Raises:
        ProtocolError: it is not a valid message, or not one that the sender may send.
    """
    what = values.get("what")
    kind = _KINDS[sender].get(what) if isinstance(what, str) else None
    if kind is None:
        raise ProtocolError(f"a message that no {sender} sends")
    # msgspec takes a text as the Base64 of bytes.
    if not isinstance(values.get(DATA, b""), bytes):
        raise ProtocolError(f"{_PLACE}: {DATA} is not behind the object, expected it there")
    texts = {
        name: printable(text)[:_MOST_LETTERS]
        for name in ("sentence", "hint")
        if isinstance(text := values.get(name), str)
    }
    try:
        return convert({**values, **texts}, kind, _PLACE)
    except WrongUseError as error:
        # Only its first letters: the rest may be whatever somebody has put into a member.
        raise ProtocolError(printable(str(error))[:_MOST_LETTERS]) from None


def _check_addresses(addresses: Iterable[str]) -> None:
    for address in addresses:
        parse_address(address, _PLACE)


def _check_numbers(data: bytes) -> None:
    if len(data) % _FLOAT_BYTES:
        raise ValueError(f"data has {len(data)} bytes, expected whole float32 numbers")
