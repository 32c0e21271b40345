"""Buffers of ranks before and after a collective, as runs of known values.

Every element is a small whole number, so that float32 holds every partial sum exactly; they differ
from rank to rank and from place to place, so that a lost or misplaced part shows. At place i of the
whole buffer rank r has i modulo `VALUE_PERIOD`, and r + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.plans.names import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND_RECEIVE,
)

# Of the root, where there is one.
ROOT = 0


@dataclass(frozen=True)
class Run:
    """Elements in a row: the k-th is `times` ((`first` + k) modulo `VALUE_PERIOD`) + `plus`.

    Args:
        begin, count: in a rank's buffer.
        first: its place in the whole buffer.
        times, plus: whole numbers.
    """

    begin: int
    count: int
    first: int
    times: int
    plus: int


@dataclass(frozen=True)
class Buffers:
    """Buffers of one rank.

    Args:
        input_elements: of the buffer that it begins with.
        output_elements: of another one for the result; None where it is in place.
        before: what is in the first.
        after: what the one with the result must have.
    """

    input_elements: int
    output_elements: int | None
    before: Sequence[Run]
    after: Sequence[Run]

    def to_json(self) -> dict[str, Any]:
        """Encode the buffers for a worker."""
        return asdict(self)


def buffers_of(collective: str, elements: int, rank: int, ranks: int) -> Buffers:
    """Return a rank's input and result. Parts are even; the rest of a buffer is not used.

    Args:
        collective: of `plink.plans.names.COLLECTIVES`.
        elements: of the whole buffer.
        rank: 0 to `ranks` - 1.
        ranks: how many there are.
    """
    if collective in _WHOLE:
        return _WHOLE[collective](_Place(elements, rank, ranks))
    if collective in _IN_PARTS:
        return _IN_PARTS[collective](_Place(elements // ranks * ranks, rank, ranks))
    raise ValueError(f"there is no collective {collective!r}")


@dataclass(frozen=True)
class _Place:
    """A rank's, in a whole buffer of so many elements."""

    elements: int
    rank: int
    ranks: int

    @property
    def is_root(self) -> bool:
        return self.rank == ROOT

    @property
    def part(self) -> int:
        return self.elements // self.ranks

    def whole_of(self, rank: int) -> list[Run]:
        """Return a rank's input if it has all of the buffer."""
        return [Run(0, self.elements, 0, 1, rank + 1)]

    @property
    def summed(self) -> list[Run]:
        every = self.ranks * (self.ranks + 1) // 2
        return [Run(0, self.elements, 0, self.ranks, every)]

    @property
    def segment(self) -> list[Run]:
        """Return this rank's input if it has its part alone."""
        return [Run(0, self.part, self.rank * self.part, 1, self.rank + 1)]

    @property
    def gathered(self) -> list[Run]:
        """The parts of all ranks."""
        part = self.part
        return [Run(rank * part, part, rank * part, 1, rank + 1) for rank in range(self.ranks)]

    @property
    def exchanged(self) -> list[Run]:
        """Return this rank's part of every rank's input."""
        part = self.part
        return [Run(rank * part, part, self.rank * part, 1, rank + 1) for rank in range(self.ranks)]


def _reduce_scattered(place: _Place) -> Buffers:
    every = place.ranks * (place.ranks + 1) // 2
    own = Run(0, place.part, place.rank * place.part, place.ranks, every)
    return Buffers(place.elements, place.part, place.whole_of(place.rank), [own])


def _gather_buffers(place: _Place) -> Buffers:
    if place.is_root:
        return Buffers(place.part, place.elements, place.segment, place.gathered)
    return Buffers(place.part, 0, place.segment, [])


def _scatter_buffers(place: _Place) -> Buffers:
    own = Run(0, place.part, place.rank * place.part, 1, ROOT + 1)
    if place.is_root:
        return Buffers(place.elements, place.part, place.whole_of(ROOT), [own])
    return Buffers(0, place.part, [], [own])


def _passed_on(place: _Place) -> Buffers:
    before = place.whole_of((place.rank - 1) % place.ranks)
    return Buffers(place.elements, place.elements, place.whole_of(place.rank), before)


def _in_place(place: _Place, after: Sequence[Run]) -> Buffers:
    return Buffers(place.elements, None, place.whole_of(place.rank), after)


_WHOLE: Mapping[str, Callable[[_Place], Buffers]] = {
    BARRIER: lambda _: Buffers(0, None, [], []),
    ALL_REDUCE: lambda place: _in_place(place, place.summed),
    REDUCE: lambda place: _in_place(place, place.summed if place.is_root else []),
    BROADCAST: lambda place: _in_place(place, place.whole_of(ROOT)),
    SEND_RECEIVE: _passed_on,
}

_IN_PARTS: Mapping[str, Callable[[_Place], Buffers]] = {
    REDUCE_SCATTER: _reduce_scattered,
    ALL_GATHER: lambda place: Buffers(place.part, place.elements, place.segment, place.gathered),
    GATHER: _gather_buffers,
    SCATTER: _scatter_buffers,
    ALL_TO_ALL: lambda place: Buffers(
        place.elements, place.elements, place.whole_of(place.rank), place.exchanged
    ),
}
