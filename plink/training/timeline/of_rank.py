"""Events of each collective on one rank, by its own clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.training.timeline.lines import NO_BUFFER, Head

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_NEVER = float("nan")


@dataclass(frozen=True)
class RankEvents:
    """Events of one rank; a time is NaN if the file ends before it.

    Args:
        head: of its first file.
        source: its first file, as messages call it.
        names: (W,) of what it announced, in that order.
        announced_us: (W,) when.
        agreed_us: (W,) when it knew that all ranks had.
        has_failed: (W,) whether it was told that this failed.
        buffer_of: (W,) the number of its buffer, -1 for none.
        sizes_bytes: (W,) of its tensors.
        buffers: (B,) numbers of what was run, in that order.
        released_us: (B,) when they were agreed on.
        begun_us: (B,) when they were handed to the engine.
        ended_us: (B,) when they ended.
        buffers_bytes: (B,) their sizes.
        collectives: (B,) in each.
        missed: events that are not in the file.
    """

    head: Head
    source: str
    names: list[str]
    announced_us: Floats
    agreed_us: Floats
    has_failed: npt.NDArray[np.bool_]
    buffer_of: Integers
    sizes_bytes: Floats
    buffers: Integers
    released_us: Floats
    begun_us: Floats
    ended_us: Floats
    buffers_bytes: Floats
    collectives: Integers
    missed: int = 0


class RankNotes:
    """Collector of a rank's events from its rows, in the order of the file."""

    def __init__(self, head: Head, source: str) -> None:
        self.head = head
        self.missed = 0
        self._source = source
        self._names: list[str] = []
        self._waits: list[list[Any]] = []
        self._buffers: dict[int, list[Any]] = {}
        # What is under way on each row: an index of waits, or a buffer that has begun.
        self._open_waits: dict[int, int] = {}
        self._open_buffers: dict[int, int] = {}

    def wait(self, row: int, at_us: float, name: str, size_bytes: int) -> None:
        """A collective is announced."""
        self._open_waits[row] = len(self._waits)
        self._names.append(name)
        self._waits.append([at_us, _NEVER, False, NO_BUFFER, size_bytes])

    def release(self, row: int, at_us: float, what: tuple[int, int, int]) -> None:
        """A buffer is agreed on: its number, size in bytes, and collectives."""
        self._buffer(what)[0] = at_us
        self._open_buffers.pop(row, None)

    def begin(self, row: int, at_us: float, what: tuple[int, int, int]) -> None:
        """Record that a buffer is handed to the engine."""
        self._buffer(what)[1] = at_us
        self._open_buffers[row] = what[0]

    def end(self, row: int, at_us: float, number: int, has_failed: bool = False) -> None:
        """End what is open on the row; a wait in this buffer, or in none."""
        if row in self._open_waits:
            wait = self._waits[self._open_waits.pop(row)]
            wait[1:4] = _NEVER if has_failed else at_us, has_failed, number
        elif row in self._open_buffers:
            self._buffers[self._open_buffers.pop(row)][2] = at_us

    def forget_open(self) -> None:
        """Forget what is open, because events are missing."""
        self._open_waits.clear()
        self._open_buffers.clear()

    def _buffer(self, what: tuple[int, int, int]) -> list[Any]:
        return self._buffers.setdefault(what[0], [_NEVER, _NEVER, _NEVER, *what[1:]])

    def events(self) -> RankEvents:
        """Return all of it."""
        waits = np.array(self._waits, dtype=np.float64).reshape(-1, 5)
        numbers = sorted(self._buffers)
        buffers = np.array([self._buffers[number] for number in numbers], dtype=np.float64).reshape(
            -1, 5
        )
        return RankEvents(
            self.head,
            self._source,
            self._names,
            announced_us=waits[:, 0],
            agreed_us=waits[:, 1],
            has_failed=waits[:, 2] > 0.0,
            buffer_of=waits[:, 3].astype(np.int64),
            sizes_bytes=waits[:, 4],
            buffers=np.array(numbers, dtype=np.int64),
            released_us=buffers[:, 0],
            begun_us=buffers[:, 1],
            ended_us=buffers[:, 2],
            buffers_bytes=buffers[:, 3],
            collectives=buffers[:, 4].astype(np.int64),
            missed=self.missed,
        )
