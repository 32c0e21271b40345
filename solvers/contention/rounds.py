"""Distinct rounds of a peer table, with the number of repetitions of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.table import PeerTable, Round

# Libraries cut buffers into parts whose sizes differ by an element or two. Rounds whose messages
# differ by no more than this share count as alike, with the mean of their sizes.
SIZE_TOLERANCE = 0.01


@dataclass(frozen=True)
class DistinctRound:
    """Rounds with equal messages and sizes, and their number.

    Args:
        sources, destinations: (F,) ranks.
        sizes_bytes: (F,) what each sends in one such round.
        count: how many there are.
        goes_round: the messages are one ring through all ranks, N-1 times in a row or more, so that
            every message passes everywhere: what delays it is the mean of the latencies, not
            always the greatest.
    """

    sources: npt.NDArray[np.intp]
    destinations: npt.NDArray[np.intp]
    sizes_bytes: npt.NDArray[np.float64]
    count: int
    goes_round: bool


@dataclass
class _Alike:
    """Similar rounds found so far, with their summed sizes."""

    first: Round
    total_bytes: npt.NDArray[np.float64]
    count: int = 0


@dataclass
class _SameEdges:
    """Rounds between the same ranks found so far, and the longest run of them."""

    alike: list[_Alike] = field(default_factory=list)
    in_a_row: int = 0
    most_in_a_row: int = 0
    last_place: int = -2

    def pass_at(self, place: int, times: int) -> None:
        self.in_a_row = self.in_a_row + times if place == self.last_place + 1 else times
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        self.last_place = place + times - 1


def distinct_rounds(table: PeerTable) -> Sequence[DistinctRound]:
    """Return the distinct rounds of a table, by first appearance.

    Messages of a rank to itself and rounds without messages are left out.
    """
    by_edges: dict[bytes, _SameEdges] = {}
    found: list[tuple[_Alike, _SameEdges]] = []
    place = 0
    # The same object many times in a row is looked at once.
    for _, repeated in itertools.groupby(table.rounds, key=id):
        step, times = _count_equal(repeated)
        begin, place = place, place + times
        if not len(step.sources):
            continue
        key = step.sources.tobytes() + step.destinations.tobytes()
        same = by_edges.setdefault(key, _SameEdges())
        same.pass_at(begin, times)
        alike = next((known for known in same.alike if _is_alike(known.first, step)), None)
        if alike is None:
            alike = _Alike(step, np.zeros(len(step.sources)))
            same.alike.append(alike)
            found.append((alike, same))
        alike.total_bytes += step.sizes_bytes * times
        alike.count += times
    return [_distinct(alike, same.most_in_a_row, table.ranks) for alike, same in found]


def _count_equal(rounds: Iterator[Round]) -> tuple[Round, int]:
    """Return the distinct ones of sorted equal rounds, with their counts."""
    first = next(rounds)
    return _sort_flows(first), 1 + sum(1 for _ in rounds)


def _sort_flows(step: Round) -> Round:
    sources = np.asarray(step.sources, dtype=np.intp)
    destinations = np.asarray(step.destinations, dtype=np.intp)
    places = np.lexsort((destinations, sources))
    places = places[sources[places] != destinations[places]]
    sizes_bytes = np.asarray(step.sizes_bytes, dtype=np.float64)
    return Round(sources[places], destinations[places], sizes_bytes[places])


def _is_alike(known: Round, other: Round) -> bool:
    return np.allclose(other.sizes_bytes, known.sizes_bytes, rtol=SIZE_TOLERANCE, atol=0.0)


def _distinct(alike: _Alike, in_a_row: int, ranks: int) -> DistinctRound:
    return DistinctRound(
        sources=alike.first.sources,
        destinations=alike.first.destinations,
        sizes_bytes=alike.total_bytes / alike.count,
        count=alike.count,
        goes_round=in_a_row >= ranks - 1 and _is_ring(alike.first, ranks),
    )


def _is_ring(step: Round, ranks: int) -> bool:
    """Return whether the messages form one ring through all ranks."""
    everyone = np.arange(ranks)
    if not np.array_equal(step.sources, everyone):
        return False
    rank = int(step.destinations[0])
    passed = 1
    while rank != 0 and passed <= ranks:
        rank = int(step.destinations[rank])
        passed += 1
    return rank == 0 and passed == ranks
