"""Split of a collective into distinct rounds, flows that load links, and waits for latency."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.components import components

# Libraries cut buffers into parts whose sizes differ by an element or two. Rounds whose messages
# differ by no more than this share count as alike, with the mean of their sizes.
SIZE_TOLERANCE = 0.01

Ranks = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stages:
    """Flows of each distinct stage of a collective, as arrays, with how often each is passed.

    Args:
        starts: (K + 1,) where the flows of each stage begin.
        sources, destinations: (F,) ranks.
        sizes_bytes: (F,) of one stage.
        counts: (K,) how often each stage is passed.
        goes_round: (K,) whether the messages are one ring through all ranks, N-1 times in a row or
            more, so that every message passes everywhere: what delays it is the mean of the
            latencies, not the greatest.
    """

    starts: Ranks
    sources: Ranks
    destinations: Ranks
    sizes_bytes: Floats
    counts: Floats
    goes_round: npt.NDArray[np.bool_]

    def stage(self, number: int) -> Stages:
        """Return one of the stages alone, with a count of 1."""
        flows = slice(self.starts[number], self.starts[number + 1])
        return Stages(
            np.array([0, flows.stop - flows.start], dtype=np.intp),
            self.sources[flows],
            self.destinations[flows],
            self.sizes_bytes[flows],
            np.ones(1),
            self.goes_round[number : number + 1],
        )


@dataclass
class _Alike:
    """Rounds with the same messages of nearly equal sizes, collected so far, with summed sizes."""

    first: Round
    total_bytes: npt.NDArray[np.float64]
    count: int = 0

    def is_like(self, sizes_bytes: Floats) -> bool:
        return np.allclose(sizes_bytes, self.first.sizes_bytes, rtol=SIZE_TOLERANCE, atol=0.0)


@dataclass
class _SameEdges:
    """Rounds between the same ranks, collected so far, and the longest run of consecutive ones."""

    alike: list[_Alike] = field(default_factory=list)
    in_a_row: int = 0
    most_in_a_row: int = 0
    last_place: int = -2

    def pass_at(self, place: int, times: int) -> None:
        self.in_a_row = self.in_a_row + times if place == self.last_place + 1 else times
        self.most_in_a_row = max(self.most_in_a_row, self.in_a_row)
        self.last_place = place + times - 1


def distinct_rounds(table: PeerTable) -> Stages:
    """Return the distinct rounds of a collective with their counts, by first appearance.

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
    firsts = [alike.first for alike, _ in found]
    goes_round = [
        same.most_in_a_row >= table.ranks - 1 and _is_ring(alike.first, table.ranks)
        for alike, same in found
    ]
    no_ranks = np.zeros(0, dtype=np.intp)
    return Stages(
        np.cumsum([0, *(len(step.sources) for step in firsts)], dtype=np.intp),
        np.concatenate([no_ranks, *(step.sources for step in firsts)]),
        np.concatenate([no_ranks, *(step.destinations for step in firsts)]),
        np.concatenate([np.zeros(0), *(alike.total_bytes / alike.count for alike, _ in found)]),
        np.array([float(alike.count) for alike, _ in found]),
        np.array(goes_round, dtype=np.bool_),
    )


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
    is_permutation = np.array_equal(step.sources, everyone) and np.array_equal(
        np.sort(step.destinations), everyone
    )
    return is_permutation and not components(ranks, step.sources, step.destinations).any()


def split(table: PeerTable) -> tuple[Stages, Stages]:
    """Return a collective's stages of flows that load links, and its stages of latency waits.

    All flows of a pipelined table are one stage, since all rounds are under way at once; its
    latencies are those of the first part's way through all rounds.
    """
    waits = distinct_rounds(table)
    if not (table.is_pipelined and len(waits.counts)):
        return waits, waits
    at_once = replace(
        waits,
        starts=waits.starts[[0, -1]],
        sizes_bytes=waits.sizes_bytes * np.repeat(waits.counts, np.diff(waits.starts)),
        counts=np.ones(1),
        goes_round=np.zeros(1, dtype=np.bool_),
    )
    return _sum_by_pair(at_once), waits


def over_positions(loads: Stages, waits: Stages, position_of: Ranks) -> tuple[Stages, Stages]:
    """Return loads and waits between positions of hosts instead of ranks; within one they are free.

    What ranks of the same position exchange is free. Where messages go round, the mean latency of
    all ranks' messages counts, which those between positions are a part of.
    """
    on_wait = _move_to_positions(waits, position_of)
    share = np.where(waits.goes_round, np.diff(on_wait.starts) / np.diff(waits.starts), 1.0)
    on_load = _sum_by_pair(_move_to_positions(loads, position_of))
    return _drop_empty(on_load), _drop_empty(replace(on_wait, counts=waits.counts * share))


def _drop_empty(stages: Stages) -> Stages:
    has_flows = np.diff(stages.starts) > 0
    return replace(
        stages,
        starts=np.concatenate([stages.starts[:1], stages.starts[1:][has_flows]]),
        counts=stages.counts[has_flows],
        goes_round=stages.goes_round[has_flows],
    )


def _sum_by_pair(loads: Stages) -> Stages:
    """Return the stages with the flows of each pair of ranks or positions summed to one."""
    if not len(loads.sources):
        return loads
    positions = int(max(loads.sources.max(), loads.destinations.max())) + 1
    stages = len(loads.counts)
    stage = np.repeat(np.arange(stages), np.diff(loads.starts))
    flows = (stage * positions + loads.sources) * positions + loads.destinations
    distinct, place_of = np.unique(flows, return_inverse=True)
    stage, pair = np.divmod(distinct, positions * positions)
    return replace(
        loads,
        starts=np.searchsorted(stage, np.arange(stages + 1)),
        sources=pair // positions,
        destinations=pair % positions,
        sizes_bytes=np.bincount(place_of, loads.sizes_bytes, len(distinct)).astype(np.float64),
    )


def _move_to_positions(stages: Stages, position_of: Ranks) -> Stages:
    """Return the stages with ranks replaced by positions, without flows within a position."""
    sources, destinations = position_of[stages.sources], position_of[stages.destinations]
    kept = sources != destinations
    before = np.concatenate([[0], np.cumsum(kept)])
    return replace(
        stages,
        starts=before[stages.starts],
        sources=sources[kept],
        destinations=destinations[kept],
        sizes_bytes=stages.sizes_bytes[kept],
    )
