"""Decomposition of a collective into distinct rounds, link loads and latency waits."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.steps import PeerTable, Round

# Libraries cut buffers into parts whose sizes differ by an element or two. Rounds whose messages
# differ by no more than this share count as alike, with the mean of their sizes.
SIZE_TOLERANCE = 0.01

Ranks = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DistinctRound:
    """Round of a collective that occurs several times, with its count.

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
    """Rounds collected so far that differ only in sizes, with the summed sizes."""

    first: Round
    total_bytes: npt.NDArray[np.float64]
    count: int = 0

    def is_like(self, sizes_bytes: Floats) -> bool:
        return np.allclose(sizes_bytes, self.first.sizes_bytes, rtol=SIZE_TOLERANCE, atol=0.0)


@dataclass
class _SameEdges:
    """Rounds collected so far between the same ranks, and the longest run of them."""

    alike: list[_Alike] = field(default_factory=list)
    in_a_row: int = 0
    most_in_a_row: int = 0
    last_place: int = -2

    def pass_at(self, place: int, times: int) -> None:
        self.in_a_row = self.in_a_row + times if place == self.last_place + 1 else times
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        self.last_place = place + times - 1


def distinct_rounds(table: PeerTable) -> Sequence[DistinctRound]:
    """Return the distinct rounds of a collective, by first appearance.

    Messages of a rank to itself and rounds without messages are left out.
    """
    by_edges: dict[bytes, _SameEdges] = {}
    found: list[tuple[_Alike, _SameEdges]] = []
    place = 0
    # The same object many times in a row is looked at once.
    for _, repeated in itertools.groupby(table.rounds, key=id):
        equal = list(repeated)
        step, times = _sort_flows(equal[0]), len(equal)
        begin, place = place, place + times
        if not len(step.sources):
            continue
        key = step.sources.tobytes() + step.destinations.tobytes()
        same = by_edges.setdefault(key, _SameEdges())
        same.pass_at(begin, times)
        sizes = step.sizes_bytes
        alike = next((known for known in same.alike if known.is_like(sizes)), None)
        if alike is None:
            alike = _Alike(step, np.zeros(len(step.sources)))
            same.alike.append(alike)
            found.append((alike, same))
        alike.total_bytes += step.sizes_bytes * times
        alike.count += times
    ranks = table.ranks
    return [
        DistinctRound(
            alike.first.sources,
            alike.first.destinations,
            alike.total_bytes / alike.count,
            alike.count,
            same.most_in_a_row >= ranks - 1 and _is_ring(alike.first, ranks),
        )
        for alike, same in found
    ]


def _sort_flows(step: Round) -> Round:
    sources = np.asarray(step.sources, dtype=np.intp)
    destinations = np.asarray(step.destinations, dtype=np.intp)
    places = np.lexsort((destinations, sources))
    places = places[sources[places] != destinations[places]]
    sizes_bytes = np.asarray(step.sizes_bytes, dtype=np.float64)
    return Round(sources[places], destinations[places], sizes_bytes[places])


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


@dataclass(frozen=True)
class Loads:
    """Bytes that flow at the same time, stage after stage of a collective.

    Args:
        starts: (K + 1,) where the flows of each stage begin.
        sources, destinations: (F,) ranks.
        sizes_bytes: (F,) of one stage.
        counts: (K,) how often each stage is passed.
    """

    starts: Ranks
    sources: Ranks
    destinations: Ranks
    sizes_bytes: Floats
    counts: Floats


@dataclass(frozen=True)
class Waits:
    """Messages whose latencies a collective waits for, stage after stage.

    Args:
        starts: (K + 1,) where the messages of each stage begin.
        sources, destinations: (F,) ranks.
        counts: (K,) how often each stage is passed.
        goes_round: (K,) whether the mean latency counts, and not the greatest.
    """

    starts: Ranks
    sources: Ranks
    destinations: Ranks
    counts: Floats
    goes_round: npt.NDArray[np.bool_]


def split(table: PeerTable) -> tuple[Loads, Waits]:
    """Split a collective's messages into loads of links and waits for latencies.

    All flows of a pipelined table are one stage, since all rounds are under way at once; its
    latencies are those of the first part's way through all rounds.
    """
    rounds = distinct_rounds(table)
    starts = np.cumsum([0, *(len(step.sources) for step in rounds)], dtype=np.intp)
    sources = _concatenate([step.sources for step in rounds])
    destinations = _concatenate([step.destinations for step in rounds])
    counts = np.array([float(step.count) for step in rounds])
    goes_round = np.array([step.goes_round for step in rounds], dtype=np.bool_)
    waits = Waits(starts, sources, destinations, counts, goes_round)
    if table.is_pipelined and rounds:
        sizes_bytes = np.concatenate([step.sizes_bytes * step.count for step in rounds])
        at_once = np.array([0, len(sources)], dtype=np.intp)
        return _sum_by_pair(Loads(at_once, sources, destinations, sizes_bytes, np.ones(1))), waits
    sizes_bytes = np.concatenate([np.zeros(0), *(step.sizes_bytes for step in rounds)])
    return Loads(starts, sources, destinations, sizes_bytes, counts), waits


def _concatenate(arrays: Sequence[Ranks]) -> Ranks:
    return np.concatenate([np.zeros(0, dtype=np.intp), *arrays])


def over_positions(loads: Loads, waits: Waits, position_of: Ranks) -> tuple[Loads, Waits]:
    """Return loads and waits between positions of hosts, each shared by adjacent ranks.

    What ranks of the same position exchange is free. Where messages go round, the mean latency of
    all ranks' messages counts, which those between positions are a part of.

    Args:
        loads, waits: between ranks.
        position_of: (R,) the position of every rank.
    """
    sources, destinations, starts, kept = _list_flows(loads, position_of)
    on_load = _sum_by_pair(
        Loads(starts, sources, destinations, loads.sizes_bytes[kept], loads.counts)
    )
    messages = np.diff(waits.starts)
    sources, destinations, starts, _ = _list_flows(waits, position_of)
    share = np.where(waits.goes_round, np.diff(starts) / messages, 1.0)
    on_wait = Waits(starts, sources, destinations, waits.counts * share, waits.goes_round)
    some, others = (np.diff(flows.starts) > 0 for flows in (on_load, on_wait))
    return replace(
        on_load, starts=_keep_starts(on_load.starts, some), counts=on_load.counts[some]
    ), replace(
        on_wait,
        starts=_keep_starts(on_wait.starts, others),
        counts=on_wait.counts[others],
        goes_round=on_wait.goes_round[others],
    )


def _keep_starts(starts: Ranks, has_flows: npt.NDArray[np.bool_]) -> Ranks:
    """Return where the stages that have flows begin, and the end."""
    return np.concatenate([starts[:1], starts[1:][has_flows]])


def _sum_by_pair(loads: Loads) -> Loads:
    """Return each pair of ranks or positions once per stage, with its total bytes."""
    if not len(loads.sources):
        return loads
    positions = int(max(loads.sources.max(), loads.destinations.max())) + 1
    stages = len(loads.counts)
    stage = np.repeat(np.arange(stages), np.diff(loads.starts))
    flows = (stage * positions + loads.sources) * positions + loads.destinations
    distinct, place_of = np.unique(flows, return_inverse=True)
    stage, pair = np.divmod(distinct, positions * positions)
    return Loads(
        starts=np.searchsorted(stage, np.arange(stages + 1)),
        sources=pair // positions,
        destinations=pair % positions,
        sizes_bytes=np.bincount(place_of, loads.sizes_bytes, len(distinct)).astype(np.float64),
        counts=loads.counts,
    )


def _list_flows(
    flows: Loads | Waits, position_of: Ranks
) -> tuple[Ranks, Ranks, Ranks, npt.NDArray[np.bool_]]:
    """Return sources, destinations and stage starts of the flows between different positions."""
    sources, destinations = position_of[flows.sources], position_of[flows.destinations]
    kept = sources != destinations
    before = np.concatenate([[0], np.cumsum(kept)])
    return sources[kept], destinations[kept], before[flows.starts], kept
