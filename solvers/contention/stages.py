"""Decomposition of a peer table's time into link loads and latency waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.rounds import DistinctRound, distinct_rounds

Ranks = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Loads:
    """Concurrent flows, stage after stage.

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
    """Messages whose latencies are waited for, stage after stage.

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
    """Return the loads and the waits of a table.

    All flows of a pipelined table are one stage, since all rounds are under way at once; its
    latencies are those of the first part's way through all rounds.
    """
    rounds = distinct_rounds(table)
    starts = _starts(rounds)
    sources = _concatenate([step.sources for step in rounds])
    destinations = _concatenate([step.destinations for step in rounds])
    counts = np.array([float(step.count) for step in rounds])
    goes_round = np.array([step.goes_round for step in rounds], dtype=np.bool_)
    waits = Waits(starts, sources, destinations, counts, goes_round)
    if table.is_pipelined and rounds:
        return _together(rounds, table.ranks), waits
    sizes_bytes = np.concatenate([np.zeros(0), *(step.sizes_bytes for step in rounds)])
    return Loads(starts, sources, destinations, sizes_bytes, counts), waits


def _starts(rounds: Sequence[DistinctRound]) -> Ranks:
    return np.cumsum([0, *(len(step.sources) for step in rounds)], dtype=np.intp)


def _concatenate(arrays: Sequence[Ranks]) -> Ranks:
    return np.concatenate([np.zeros(0, dtype=np.intp), *arrays])


def _together(rounds: Sequence[DistinctRound], ranks: int) -> Loads:
    """Return all rounds merged into one, with the total bytes of each pair."""
    pairs = _concatenate([step.sources * ranks + step.destinations for step in rounds])
    sizes = np.concatenate([np.zeros(0), *(step.sizes_bytes * step.count for step in rounds)])
    distinct, place_of = np.unique(pairs, return_inverse=True)
    return Loads(
        starts=np.array([0, len(distinct)], dtype=np.intp),
        sources=distinct // ranks,
        destinations=distinct % ranks,
        sizes_bytes=np.bincount(place_of, sizes, len(distinct)).astype(np.float64),
        counts=np.ones(1),
    )


def over_positions(loads: Loads, waits: Waits, position_of: Ranks) -> tuple[Loads, Waits]:
    """Return loads and waits between positions, each shared by one or more ranks.

    What ranks of the same position exchange is free. Where messages go round, the mean latency of
    all ranks' messages counts, which those between positions are a part of.

    Args:
        loads, waits: between ranks.
        position_of: (R,) the position of every rank.
    """
    sources, destinations, starts, kept = _between(loads, position_of)
    on_load = _sum_by_pair(
        Loads(starts, sources, destinations, loads.sizes_bytes[kept], loads.counts)
    )
    messages = np.diff(waits.starts)
    sources, destinations, starts, _ = _between(waits, position_of)
    share = np.where(waits.goes_round, np.diff(starts) / messages, 1.0)
    on_wait = Waits(starts, sources, destinations, waits.counts * share, waits.goes_round)
    return _without_empty_loads(on_load), _without_empty_waits(on_wait)


def _sum_by_pair(loads: Loads) -> Loads:
    """Return each pair of positions once per stage, with its total bytes."""
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


def _between(
    flows: Loads | Waits, position_of: Ranks
) -> tuple[Ranks, Ranks, Ranks, npt.NDArray[np.bool_]]:
    """Return sources, destinations and starts of the flows between positions, and their mask."""
    sources, destinations = position_of[flows.sources], position_of[flows.destinations]
    kept = sources != destinations
    before = np.concatenate([[0], np.cumsum(kept)])
    return sources[kept], destinations[kept], before[flows.starts], kept


def _without_empty_loads(loads: Loads) -> Loads:
    some = np.diff(loads.starts) > 0
    starts = np.concatenate([loads.starts[:1], loads.starts[1:][some]])
    return replace(loads, starts=starts, counts=loads.counts[some])


def _without_empty_waits(waits: Waits) -> Waits:
    some = np.diff(waits.starts) > 0
    starts = np.concatenate([waits.starts[:1], waits.starts[1:][some]])
    return replace(
        waits, starts=starts, counts=waits.counts[some], goes_round=waits.goes_round[some]
    )
