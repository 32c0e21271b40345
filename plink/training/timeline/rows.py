"""Arrange a rank's events in rows on which nothing overlaps."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from plink.training.control.requests import ALL_REDUCE, Request
from plink.training.timeline.lines import (
    JOIN,
    QUEUE,
    REDUCE,
    WAIT,
    Head,
    begin_line,
    dump_line,
    end_line,
    format_fields,
    head_lines,
    moment_line,
    row_lines,
)

# Names come again in each iteration; of programs that make up new ones not all are kept.
_MOST_NAMES = 65_536
_JOIN_ROW = 1


@dataclass(frozen=True, slots=True)
class Buffer:
    """Collectives that are run as one.

    Args:
        number: the same on all ranks, from 0 on.
        requests: in it.
    """

    number: int
    requests: Sequence[Request]


class Rows:
    """Lines of one rank. Times are those of its clock, in ns; nothing here reads one.

    Args:
        head: of the file.
    """

    def __init__(self, head: Head) -> None:
        self._head = head
        self._rank = head.rank
        self._lines = head_lines(head)
        self._named: set[int] = set()
        self._names: dict[str, str] = {}
        # Rows in use by what is on them.
        self._waiting: dict[str, int] = {}
        self._running: dict[int, tuple[int, str]] = {}
        self._free_waits = _Free(first=3)
        self._free_buffers = _Free(first=2)

    def take(self) -> list[str]:
        """Return the lines since the last time."""
        lines, self._lines = self._lines, []
        return lines

    def go_on(self) -> None:
        """Continue in a new file, which has to say again what rows there are."""
        self._head = replace(self._head, part=self._head.part + 1)
        self._lines += head_lines(self._head)
        self._named.clear()

    def announce(self, at_ns: int, requests: Sequence[Request]) -> None:
        """Record requests of this rank."""
        for request in requests:
            self._leave(at_ns, request.name, "{}")
            row = self._waiting[request.name] = self._free_waits.take()
            place = (row - self._free_waits.first) // 2
            self._name(row, "tensors" if not place else f"tensors {place + 1}", 1_000_000 + place)
            more = "" if request.kind == ALL_REDUCE else f',"kind":{dump_line(request.kind)}'
            if request.members:
                more += f',"tensors":{len(request.members)}'
            args = f'{{"bytes":{request.size_bytes}{more}}}'
            what = format_fields(WAIT, self._json_of(request.name), args)
            self._lines.append(begin_line(self._rank, row, at_ns * 1e-3, what))

    def agree(self, at_ns: int, buffer: Buffer) -> None:
        """All ranks are ready for these, which are one buffer."""
        args = f'{{"buffer":{buffer.number}}}'
        for request in buffer.requests:
            self._leave(at_ns, request.name, args)
        requests = buffer.requests
        is_one = len(requests) == 1
        name = self._json_of(requests[0].name) if is_one else f'"{len(requests)} collectives"'
        size_bytes = sum(request.size_bytes for request in requests)
        args = f'{{"buffer":{buffer.number},"bytes":{size_bytes},"collectives":{len(requests)}}}'
        row = self._free_buffers.take()
        self._running[buffer.number] = (row, format_fields(REDUCE, name, args))
        place = (row - self._free_buffers.first) // 2
        self._name(row, "buffers" if not place else f"buffers {place + 1}", place)
        what = format_fields(QUEUE, name, args)
        self._lines.append(begin_line(self._rank, row, at_ns * 1e-3, what))

    def begin(self, at_ns: int, number: int) -> None:
        """A buffer is handed to the engine."""
        if number in self._running:
            row, what = self._running[number]
            self._lines.append(end_line(self._rank, row, at_ns * 1e-3, "{}"))
            self._lines.append(begin_line(self._rank, row, at_ns * 1e-3, what))

    def end(self, at_ns: int, number: int) -> None:
        """A buffer has ended, well or not."""
        if number in self._running:
            row, _ = self._running.pop(number)
            self._lines.append(end_line(self._rank, row, at_ns * 1e-3, "{}"))
            self._free_buffers.give_back(row)

    def refuse(self, at_ns: int, names: Sequence[str]) -> None:
        """Record names that failed before they were agreed on."""
        for name in names:
            self._leave(at_ns, name, '{"failed":true}')

    def join(self, at_ns: int, _: None) -> None:
        """Record that this rank has no more data."""
        self._name(_JOIN_ROW, "join", 2_000_000)
        what = format_fields(JOIN, '"joined"', "{}")
        self._lines.append(begin_line(self._rank, _JOIN_ROW, at_ns * 1e-3, what))

    def all_joined(self, at_ns: int, last: int) -> None:
        """Record that no rank has more data."""
        self._lines.append(end_line(self._rank, _JOIN_ROW, at_ns * 1e-3, f'{{"last":{last}}}'))

    def miss(self, at_ns: int, events: int) -> None:
        """Record that events came too fast to be kept, and forget what was open."""
        for row in (*self._waiting.values(), *(row for row, _ in self._running.values())):
            self._lines.append(end_line(self._rank, row, at_ns * 1e-3, '{"missed":true}'))
        self._waiting.clear()
        self._running.clear()
        self._free_waits = _Free(self._free_waits.first)
        self._free_buffers = _Free(self._free_buffers.first)
        self._lines.append(moment_line(self._rank, at_ns * 1e-3, "missed", {"events": events}))

    def _leave(self, at_ns: int, name: str, args: str) -> None:
        row = self._waiting.pop(name, None)
        if row is not None:
            self._lines.append(end_line(self._rank, row, at_ns * 1e-3, args))
            self._free_waits.give_back(row)

    def _name(self, row: int, name: str, place: int) -> None:
        if row not in self._named:
            self._named.add(row)
            self._lines += row_lines(self._rank, row, name, place)

    def _json_of(self, name: str) -> str:
        found = self._names.get(name)
        if found is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            found = self._names[name] = dump_line(name)
        return found


class _Free:
    """Rows of one kind, every second number from `first` on; the lowest that is free is taken."""

    def __init__(self, first: int) -> None:
        self.first = first
        self._next = first
        self._free: list[int] = []

    def take(self) -> int:
        if self._free:
            return heapq.heappop(self._free)
        row, self._next = self._next, self._next + 2
        return row

    def give_back(self, row: int) -> None:
        heapq.heappush(self._free, row)
