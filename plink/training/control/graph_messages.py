"""Messages of the machines of `graph` beyond those of `tree`, for when the graph does not hold."""

from __future__ import annotations

from dataclasses import dataclass, field

from plink.training.control.ranks import Ranks
from plink.training.control.wire import Reader, WireError, Writer

# Of what a rank lacks as many are told.
MOST_MISSING = 64
_MOST_ITEMS = 1 << 20
_TALK, _CALL, _STOP, _REPORT, _GO, _FAIL = range(6)


@dataclass(frozen=True, slots=True)
class Talk:
    """Message of the numbered `tree` machine that decides while no graph does."""

    number: int
    message: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """Message to the root: the graph of this number does not hold, or something waits for long.

    Args:
        graph: its number.
        round: how many rounds the caller knows of.
    """

    graph: int
    round: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Message to all: begin nothing more, and report."""

    graph: int
    round: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far ranks are: buffers begun, and what the next one lacks."""

    begun: int
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class Report:
    """Message to the parent about the whole subtree.

    Args:
        graph: its number.
        round: which is answered.
        waited_ms: by what waits longest.
        is_pending: something is announced and not begun.
        reason: why the graph does not hold, of one rank that knows.
        progress: and which ranks are so far.
    """

    graph: int
    round: int
    waited_ms: int = 0
    is_pending: bool = False
    reason: str = ""
    progress: dict[Progress, Ranks] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Go:
    """Message to all: go on in order; up to here, and then agree as in `tree` if leaving the graph.

    Args:
        graph: its number.
        round: which ends.
        begun: buffers that some rank has begun, after which the order holds no more if it is left.
        leaves: it is.
        reason: why, for people; empty where that was told.
        warnings: who waits for whom.
        failed: why nothing goes on; empty where it does.
    """

    graph: int
    round: int
    begun: int
    leaves: bool
    reason: str = ""
    warnings: tuple[str, ...] = ()
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """Message to the root and to all: everything fails."""

    text: str


Message = Talk | Call | Stop | Report | Go | Fail


def pack(message: Message) -> bytes:
    """Encode a message."""
    writer = Writer()
    if isinstance(message, Talk):
        writer.number(_TALK)
        writer.number(message.number)
        return writer.done() + message.message
    if isinstance(message, Fail):
        writer.number(_FAIL)
        writer.text(message.text)
        return writer.done()
    kinds = {Call: _CALL, Stop: _STOP, Report: _REPORT, Go: _GO}
    writer.number(kinds[type(message)])
    writer.number(message.graph)
    writer.number(message.round)
    if isinstance(message, Report):
        writer.number(message.waited_ms)
        writer.number(int(message.is_pending))
        writer.text(message.reason)
        writer.number(len(message.progress))
        for progress, ranks in message.progress.items():
            writer.number(progress.begun)
            _texts(writer, progress.missing)
            writer.ranks(ranks)
    elif isinstance(message, Go):
        writer.number(message.begun)
        writer.number(int(message.leaves))
        writer.text(message.reason)
        _texts(writer, message.warnings)
        writer.text(message.failed)
    return writer.done()


def parse(data: bytes, ranks: int) -> Message:
    """Return the message of so many ranks.

    Raises:
        WireError: these bytes are none.
    """
    reader = Reader(data)
    kind = reader.number(_FAIL)
    if kind == _TALK:
        return Talk(reader.number(), reader.rest())
    message: Message
    if kind == _FAIL:
        message = Fail(reader.text())
    else:
        graph, round_number = reader.number(), reader.number()
        if kind == _CALL:
            message = Call(graph, round_number)
        elif kind == _STOP:
            message = Stop(graph, round_number)
        elif kind == _REPORT:
            waited_ms, is_pending = reader.number(), bool(reader.number(1))
            message = Report(graph, round_number, waited_ms, is_pending, reader.text())
            for _ in range(reader.number(ranks)):
                progress = Progress(reader.number(), _read_texts(reader, MOST_MISSING))
                if progress in message.progress:
                    raise WireError("ranks are as far twice")
                message.progress[progress] = reader.ranks(ranks)
        else:
            begun, leaves, reason = reader.number(), bool(reader.number(1)), reader.text()
            warnings = _read_texts(reader, _MOST_ITEMS)
            message = Go(graph, round_number, begun, leaves, reason, warnings, reader.text())
    if not reader.is_at_end:
        raise WireError("a message is longer than it has to be")
    return message


def _texts(writer: Writer, texts: tuple[str, ...]) -> None:
    writer.number(len(texts))
    for text in texts:
        writer.text(text)


def _read_texts(reader: Reader, most: int) -> tuple[str, ...]:
    return tuple(reader.text() for _ in range(reader.number(most)))
