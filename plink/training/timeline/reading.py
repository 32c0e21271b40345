"""Read ranks' timelines, line by line: they may be cut short, or written by anybody."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from plink.base.errors import WrongUseError
from plink.formats import document
from plink.formats.structs import convert
from plink.training.timeline.lines import (
    FORMAT,
    QUEUE,
    REDUCE,
    VERSION,
    WAIT,
    Event,
    Head,
    HeadEvent,
)
from plink.training.timeline.of_rank import RankEvents, RankNotes

_MARK = f'"{FORMAT}"'.encode()
_LONGEST_START = 65_536
_HINT = "plink timeline takes files that ranks wrote with PLINK_TIMELINE, as they are"


@dataclass(frozen=True)
class _Part:
    """Lines of a file after a header.

    Args:
        head: whose.
        source: the file, as messages call it.
        lines: after the head.
        first: the number of the first of these in the file.
    """

    head: Head
    source: str
    lines: Sequence[bytes]
    first: int


def is_timeline(content: bytes) -> bool:
    """Return whether a file's content begins as a timeline does, whichever version it is of."""
    return content.startswith(b"[\n") and _MARK in content[:_LONGEST_START].split(b"\n", 2)[1]


def read_ranks(contents: Iterable[tuple[str, bytes]]) -> list[RankEvents]:
    """Read the events of ranks, by rank.

    Args:
        contents: names of files, as messages call them, and what is in them, in any order: one
            file or several of each rank, or one of several ranks.

    Raises:
        WrongUseError: a file is no timeline, or damaged elsewhere than at its end; or files are of
            different groups or runs, or two are the same.
    """
    parts: list[_Part] = []
    for source, content in contents:
        parts += _parts_of(content, source)
    _check_one_group(parts)
    parts.sort(key=lambda part: (part.head.rank, part.head.part))
    ranks: dict[int, RankNotes] = {}
    before: _Part | None = None
    for part in parts:
        head = part.head
        if before is not None and (head.rank, head.part) == (before.head.rank, before.head.part):
            raise WrongUseError(f"{before.source} and {part.source} are both of rank {head.rank}")
        notes = ranks.setdefault(head.rank, RankNotes(head, part.source))
        if before is None or before.head.part + 1 != head.part:
            notes.forget_open()
        for place, event in _events(part.lines, part.source, part.first):
            _take(event, notes, place)
        before = part
    return [ranks[rank].events() for rank in sorted(ranks)]


def lines_of(content: bytes, source: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return every event of a file and its place; a last one that was cut short is left out.

    Raises:
        WrongUseError: a line is no event.
    """
    return _events(content.split(b"\n"), source)


def head_of(event: Mapping[str, Any], place: str) -> Head | None:
    """Parse the header of a file or of a part of it; None if the event is another one.

    Raises:
        WrongUseError: it says what cannot be.
    """
    if event.get("ph") != "M" or event.get("name") != FORMAT:
        return None
    args = event.get("args")
    if isinstance(args, dict):
        document.check_format({"format": FORMAT, **args}, place, FORMAT, VERSION)
    return convert(event, HeadEvent, place).args


def _parts_of(content: bytes, source: str) -> Iterator[_Part]:
    """Yield the heads in a file, each with the lines that follow it."""
    if not is_timeline(content):
        raise WrongUseError(f"{source}: is no timeline of a rank", _HINT)
    lines = content.split(b"\n")
    starts = [number for number, line in enumerate(lines) if _MARK in line]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        place = f"{source}: line {start + 1}"
        event = _event(lines[start], place)
        head = None if event is None else head_of(event, place)
        if head is None:
            raise WrongUseError(f"{place}: is no timeline of a rank", _HINT)
        yield _Part(head, source, lines[start + 1 : end], start + 2)


def _check_one_group(parts: Sequence[_Part]) -> None:
    first, source = parts[0].head, parts[0].source
    for part in parts[1:]:
        head, other = part.head, part.source
        if (head.group, head.ranks) != (first.group, first.ranks):
            raise WrongUseError(
                f"{source} and {other} are timelines of different runs or groups",
                "give the files of one run; what an earlier one left may be removed",
            )
        if (head.error_us is None) != (first.error_us is None):
            raise WrongUseError(f"{source} or {other} is merged from others, and not both")


def _events(
    lines: Sequence[bytes], source: str, first: int = 1
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events in some lines of a file, the first of which has this number."""
    last = max((number for number, line in enumerate(lines) if line.strip()), default=-1)
    for number, line in enumerate(lines[: last + 1]):
        place = f"{source}: line {first + number}"
        if line in (b"", b"[", b"]"):
            continue
        try:
            event = _event(line, place)
        except WrongUseError:
            # It was being written when the process ended.
            if number == last:
                return
            raise
        if event is not None:
            yield place, event


def _event(line: bytes, place: str) -> dict[str, Any] | None:
    line = line.strip().removesuffix(b",")
    if b"\\u" in line:
        return document.parse(line, place)
    try:
        event = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        event = document.parse(line, place)
    if not isinstance(event, dict):
        raise WrongUseError(f"{place}: is no event", _HINT)
    return event


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _take(values: dict[str, Any], notes: RankNotes, place: str) -> None:
    """Take one line: what begins or ends on a row, or that something was missed."""
    event = convert(values, Event, place)
    if event.pid != notes.head.rank:
        raise WrongUseError(f"{place}: is no event of rank {notes.head.rank}")
    args = event.args
    if event.ph == "i":
        notes.missed += args.events
    elif event.ph == "E":
        notes.end(event.tid, event.ts, args.buffer, has_failed=args.failed)
    elif event.ph == "B":
        what = (args.buffer, args.bytes, args.collectives)
        if event.cat == WAIT:
            notes.wait(event.tid, event.ts, event.name, args.bytes)
        elif event.cat == QUEUE:
            notes.release(event.tid, event.ts, what)
        elif event.cat == REDUCE:
            notes.begin(event.tid, event.ts, what)
