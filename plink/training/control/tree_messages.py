"""Messages of the machines of `tree` to their parents, and of the root to all ranks."""

from __future__ import annotations

from dataclasses import dataclass, field

from plink.training.control.ranks import Ranks
from plink.training.control.requests import Request
from plink.training.control.wire import Reader, WireError, Writer

MOST_POSITIONS = 1 << 20
_MOST_ITEMS = 1 << 20


@dataclass(frozen=True, slots=True)
class Version:
    """Request as some ranks of a subtree announced it, and these ranks."""

    request: Request
    ranks: Ranks


@dataclass(frozen=True, slots=True)
class Waiting:
    """Report about a request that has not been announced by all ranks of a subtree.

    Args:
        name: name of the request.
        waited_ms: milliseconds for which a rank has waited; 0 in an answer to the root's question.
        announced: ranks that are known to have announced the request.
        answered: ranks whose answer to the root's question this is.
    """

    name: str
    waited_ms: int
    announced: Ranks
    answered: Ranks = field(default_factory=Ranks)

    def merge(self, other: Waiting) -> Waiting:
        """Return one report for this one and another about the same request."""
        waited_ms = max(self.waited_ms, other.waited_ms)
        announced = self.announced | other.announced
        return Waiting(self.name, waited_ms, announced, self.answered | other.answered)


@dataclass(slots=True)
class Upward:
    """Message to the parent about the sender's whole subtree.

    Args:
        seen: how many messages of the root the sender had taken.
        ready: positions of requests that all of it has announced.
        versions: requests that all of it has announced, and that have no position, or not in all
            versions; requests together that share a tensor.
        joined: ranks that have joined since the last message.
        waiting: for what it has waited for long.
        check: a number of messages and the sender's digest after it; None where none is due.
        failed: why nothing can go on; empty where all is well.
    """

    seen: int = 0
    ready: list[int] = field(default_factory=list)
    versions: list[tuple[Version, ...]] = field(default_factory=list)
    joined: Ranks = field(default_factory=Ranks)
    waiting: list[Waiting] = field(default_factory=list)
    check: tuple[int, int] | None = None
    failed: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be said."""
        said = self.ready or self.versions or self.joined or self.waiting
        return not said and self.check is None and not self.failed


@dataclass(frozen=True, slots=True)
class Member:
    """A request of a batch: at a position, where it is put first if it is given."""

    position: int
    request: Request | None


@dataclass(slots=True)
class Downward:
    """Message of the root to all ranks; its parts take effect in this order.

    Args:
        batches: to be released.
        joined: ranks contribute zeros.
        refused: names, and why.
        last: all ranks have joined, this one last; None where they have not.
        warnings: for people.
        stalled: names, and for how many milliseconds some rank has waited: all are to say who below
            them has announced these.
        failed: why nothing goes on; empty where all is well.
    """

    batches: list[tuple[Member, ...]] = field(default_factory=list)
    joined: bool = False
    refused: list[tuple[str, str]] = field(default_factory=list)
    last: int | None = None
    warnings: list[str] = field(default_factory=list)
    stalled: list[tuple[str, int]] = field(default_factory=list)
    failed: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be said."""
        said = self.batches or self.refused or self.warnings or self.stalled or self.failed
        return not said and self.last is None


def pack_upward(message: Upward) -> bytes:
    """Encode a message to the parent."""
    writer = Writer()
    writer.number(message.seen)
    spans = _spans(message.ready)
    writer.number(len(spans))
    for first, count in spans:
        writer.number(first)
        writer.number(count)
    writer.number(len(message.versions))
    for versions in message.versions:
        writer.number(len(versions))
        for version in versions:
            writer.request(version.request)
            writer.ranks(version.ranks)
    writer.ranks(message.joined)
    writer.number(len(message.waiting))
    for waiting in message.waiting:
        writer.text(waiting.name)
        writer.number(waiting.waited_ms)
        writer.ranks(waiting.announced)
        writer.ranks(waiting.answered)
    writer.number(message.check is not None)
    if message.check is not None:
        at, digest = message.check
        writer.number(at)
        writer.number(digest >> 32)
        writer.number(digest & 0xFFFFFFFF)
    writer.text(message.failed)
    return writer.done()


def parse_upward(data: bytes, ranks: int) -> Upward:
    """Parse the output of `pack_upward` among `ranks` ranks.

    Raises:
        WireError: these bytes are something else.
    """
    reader = Reader(data)
    message = Upward(seen=reader.number())
    for _ in range(reader.number(_MOST_ITEMS)):
        first, count = reader.number(MOST_POSITIONS), reader.number(MOST_POSITIONS)
        if first + count > MOST_POSITIONS or len(message.ready) + count > MOST_POSITIONS:
            raise WireError("there are too many positions")
        message.ready.extend(range(first, first + count))
    for _ in range(reader.number(_MOST_ITEMS)):
        versions = tuple(
            Version(reader.request(), reader.ranks(ranks))
            for _ in range(reader.number(_MOST_ITEMS))
        )
        if not versions:
            raise WireError("a request has no version")
        message.versions.append(versions)
    message.joined = reader.ranks(ranks)
    for _ in range(reader.number(_MOST_ITEMS)):
        name, waited_ms, announced = reader.text(), reader.number(), reader.ranks(ranks)
        message.waiting.append(Waiting(name, waited_ms, announced, reader.ranks(ranks)))
    if reader.number(1):
        at, high, low = reader.number(), reader.number(0xFFFFFFFF), reader.number(0xFFFFFFFF)
        message.check = at, high << 32 | low
    message.failed = reader.text()
    _end(reader)
    return message


def pack_downward(message: Downward) -> bytes:
    """Encode a message of the root."""
    writer = Writer()
    writer.number(len(message.batches))
    for batch in message.batches:
        writer.number(len(batch))
        for member in batch:
            writer.number(member.position << 1 | (member.request is not None))
            if member.request is not None:
                writer.request(member.request)
    writer.number(message.joined)
    _write_pairs(writer, message.refused)
    writer.number(0 if message.last is None else message.last + 1)
    writer.number(len(message.warnings))
    for text in message.warnings:
        writer.text(text)
    writer.number(len(message.stalled))
    for name, waited_ms in message.stalled:
        writer.text(name)
        writer.number(waited_ms)
    writer.text(message.failed)
    return writer.done()


def parse_downward(data: bytes, ranks: int) -> Downward:
    """Parse the output of `pack_downward` among `ranks` ranks.

    Raises:
        WireError: these bytes are something else.
    """
    reader = Reader(data)
    message = Downward()
    for _ in range(reader.number(_MOST_ITEMS)):
        batch: list[Member] = []
        for _ in range(reader.number(_MOST_ITEMS)):
            position, is_put = divmod(reader.number(2 * MOST_POSITIONS + 1), 2)
            batch.append(Member(position, reader.request() if is_put else None))
        if not batch:
            raise WireError("a batch is empty")
        message.batches.append(tuple(batch))
    message.joined = bool(reader.number(1))
    message.refused = _read_pairs(reader)
    last = reader.number(ranks)
    message.last = last - 1 if last else None
    message.warnings = [reader.text() for _ in range(reader.number(_MOST_ITEMS))]
    message.stalled = [(reader.text(), reader.number()) for _ in range(reader.number(_MOST_ITEMS))]
    message.failed = reader.text()
    _end(reader)
    return message


def _spans(positions: list[int]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for position in positions:
        if spans and sum(spans[-1]) == position:
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((position, 1))
    return spans


def _write_pairs(writer: Writer, pairs: list[tuple[str, str]]) -> None:
    writer.number(len(pairs))
    for name, text in pairs:
        writer.text(name)
        writer.text(text)


def _read_pairs(reader: Reader) -> list[tuple[str, str]]:
    return [(reader.text(), reader.text()) for _ in range(reader.number(_MOST_ITEMS))]


def _end(reader: Reader) -> None:
    if not reader.is_at_end:
        raise WireError("a message has more than belongs to it")
