"""Reduction of a buffer in pieces, so that one is copied while another is on the network."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from plink.base.errors import PlinkError

# At 100 Gbit/s a third of a millisecond: long beside what beginning a collective costs, short
# beside a bucket of gradients.
PIECE_BYTES = 4 << 20
_ALIGNED_ITEMS = 1024


class PieceWork(Protocol):
    """Work of the engine, or of a substitute, for one piece."""

    def done(self) -> bool:
        """Return whether the piece has ended, with or without success."""

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait for the piece as `plink.engine.Work.wait` does."""

    @property
    def posted_s(self) -> float | None:
        """Time of posting (`time.monotonic`), in s; None where there was nothing to do."""

    @property
    def ended_s(self) -> float | None:
        """Time of the end, with or without success, in s; None before the end."""


def pieces_of(items: int, item_bytes: int) -> Iterator[slice]:
    """Yield equal slices of a buffer, of at most `PIECE_BYTES` each, the last one smaller.

    They follow from the size alone, so that all ranks cut alike, wherever their tensors are. A
    buffer without items is one piece.
    """
    pieces = max(1, -(-items * item_bytes // PIECE_BYTES))
    step = -(-items // pieces)
    if pieces > 1:
        step = -(-step // _ALIGNED_ITEMS) * _ALIGNED_ITEMS
        step = min(step, PIECE_BYTES // item_bytes)
    begin = 0
    while True:
        yield slice(begin, min(begin + step, items))
        begin += step
        if begin >= items:
            return


class JoinedWork:
    """Several works that are waited for as one.

    Args:
        works: in the order in which they began.
    """

    def __init__(self, works: Sequence[PieceWork]) -> None:
        self._works = works

    @property
    def posted_s(self) -> float | None:
        """Time at which the first work was posted, in s."""
        return self._works[0].posted_s if self._works else None

    @property
    def ended_s(self) -> float | None:
        """Time at which the last work ended, in s; None before that."""
        ends = [work.ended_s for work in self._works]
        known = [one for one in ends if one is not None]
        return max(known) if known and len(known) == len(ends) else None

    def done(self) -> bool:
        """Return whether all works have ended, with or without success."""
        return all(work.done() for work in self._works)

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until all works have ended with success.

        Raises:
            EngineError: one failed.
            TimeoutError: not within `timeout_s`.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        for work in self._works:
            work.wait(None if until is None else max(0.0, until - time.monotonic()))


class ComingWork:
    """Work in pieces, each of which another thread copies back once it has ended."""

    def __init__(self) -> None:
        self._is_over = threading.Event()
        self._error: PlinkError | RuntimeError | None = None
        self.posted_s: float | None = time.monotonic()
        self.ended_s: float | None = None

    def done(self) -> bool:
        """Return whether each piece has failed, or its copy back is queued."""
        return self._is_over.is_set()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait until the copies back of all pieces are queued on their stream.

        Raises:
            EngineError: the engine has failed.
            RuntimeError: a copy has.
            TimeoutError: not within `timeout_s`.
        """
        if not self._is_over.wait(timeout_s):
            raise TimeoutError(f"the all-reduce has not ended within {timeout_s:g} s")
        if self._error is not None:
            raise self._error

    def fail(self, error: PlinkError | RuntimeError) -> None:
        """Record a failure; the first one is kept."""
        self._error = self._error or error

    def end(self) -> None:
        """Record that no piece follows."""
        self.ended_s = time.monotonic()
        self._is_over.set()
