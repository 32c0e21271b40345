"""Timelines of ranks as one: which events are of the same collective, and by one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.formats.limits import Amount, Text, Whole
from plink.formats.structs import Output
from plink.training.control.requests import UNNAMED
from plink.training.timeline.clocks import Clocks, Floats, aligned_clocks, clocks_of
from plink.training.timeline.lines import BY_GRAPH, UNKNOWN_US
from plink.training.timeline.of_rank import Integers, RankEvents


class PendingCollective(Output, frozen=True):
    """Collective that some ranks announced but that never ran.

    Attributes:
        name: name of the collective
        announced_by: ranks that announced it
        at_us: when the last of these did, from the beginning on, in µs
        failed: whether a rank was told that it had failed
    """

    name: Text
    announced_by: Sequence[Whole]
    at_us: Amount
    failed: bool


@dataclass(frozen=True)
class Timeline:
    """Timeline of several ranks. Times begin with the first event of any; NaN is unknown.

    Args:
        ranks: (R,) their numbers.
        of_ranks: how many the group has.
        names: (C,) of collectives that were agreed on, in the order of their buffers.
        buffer_of: (C,) the place of each in `buffers`.
        sizes_bytes: (C,) of their tensors.
        announced_us: (C, R) when each rank did; NaN where it had joined, too.
        agreed_us: (C, R) when each knew that all had.
        buffers: (B,) numbers of what was run.
        buffers_bytes: (B,) their sizes.
        collectives: (B,) in each.
        released_us: (B, R) when each was agreed on.
        begun_us: (B, R) when each was handed to the engine.
        ended_us: (B, R) when each ended.
        pending: what was not agreed on before the files end.
        clocks: by which times were put beside each other.
        begins_us: when it begins by the clock of the first rank.
        missed: events that ranks could not write.
        is_by_graph: ranks released what the graph said, without asking each other.
    """

    ranks: Sequence[int]
    of_ranks: int
    names: Sequence[str]
    buffer_of: Integers
    sizes_bytes: Floats
    announced_us: Floats
    agreed_us: Floats
    buffers: Integers
    buffers_bytes: Floats
    collectives: Integers
    released_us: Floats
    begun_us: Floats
    ended_us: Floats
    pending: Sequence[PendingCollective]
    clocks: Clocks
    begins_us: float
    missed: int
    is_by_graph: bool = False


def merge_ranks(ranks: Sequence[RankEvents]) -> Timeline:
    """Merge several ranks into one timeline, in their order."""
    buffers = np.unique(np.concatenate([_buffers_of(rank) for rank in ranks]))
    keys: dict[tuple[int, str], int] = {}
    rows = []
    for rank in ranks:
        numbers = rank.buffer_of.tolist()
        rows.append(
            [
                keys.setdefault((number, name), len(keys)) if number >= 0 else -1
                for number, name in zip(numbers, rank.names, strict=True)
            ]
        )
    order = sorted(keys, key=lambda key: (key[0], keys[key]))
    place_of = np.empty(len(keys), dtype=np.intp)
    place_of[[keys[key] for key in order]] = np.arange(len(keys))
    announced_us, agreed_us = (np.full((len(keys), len(ranks)), np.nan) for _ in range(2))
    of_buffers = np.full((3, len(buffers), len(ranks)), np.nan)
    sizes_bytes, buffers_bytes = np.zeros(len(keys)), np.zeros(len(buffers))
    collectives = np.zeros(len(buffers), dtype=np.int64)
    for column, (rank, row) in enumerate(zip(ranks, rows, strict=True)):
        at = np.array(row, dtype=np.intp)
        is_agreed = at >= 0
        places = place_of[at[is_agreed]]
        announced_us[places, column] = rank.announced_us[is_agreed]
        agreed_us[places, column] = rank.agreed_us[is_agreed]
        sizes_bytes[places] = rank.sizes_bytes[is_agreed]
        here = np.searchsorted(buffers, rank.buffers)
        of_buffers[:, here, column] = rank.released_us, rank.begun_us, rank.ended_us
        buffers_bytes[here] = rank.buffers_bytes
        collectives[here] = rank.collectives
    buffer_of = np.searchsorted(buffers, np.array([number for number, _ in order], np.int64))
    is_by_graph = any(rank.head.mode == BY_GRAPH for rank in ranks)
    if is_by_graph:
        # A rank releases by itself, but no all-reduce ends before all have announced it.
        is_named = np.array([not name.startswith(UNNAMED) for _, name in order], dtype=np.bool_)
        known_us = np.where(is_named[:, None], of_buffers[2, buffer_of], np.nan)
    else:
        # A rank that had joined announced nothing, and knows when its buffers were released.
        known_us = np.where(np.isnan(agreed_us), of_buffers[0, buffer_of], agreed_us)
    clocks = _clocks(ranks, announced_us, known_us)
    shifted = [
        rank.announced_us - ahead for rank, ahead in zip(ranks, clocks.ahead_us, strict=True)
    ]
    begins_us = min((float(at_us.min()) for at_us in shifted if len(at_us)), default=0.0)
    shift_us = clocks.ahead_us + begins_us
    return Timeline(
        ranks=[rank.head.rank for rank in ranks],
        of_ranks=ranks[0].head.ranks,
        names=[name for _, name in order],
        buffer_of=buffer_of,
        sizes_bytes=sizes_bytes,
        announced_us=announced_us - shift_us,
        agreed_us=agreed_us - shift_us,
        buffers=buffers,
        buffers_bytes=buffers_bytes,
        collectives=collectives,
        released_us=of_buffers[0] - shift_us,
        begun_us=of_buffers[1] - shift_us,
        ended_us=of_buffers[2] - shift_us,
        pending=_pending(ranks, shift_us),
        clocks=clocks,
        begins_us=begins_us,
        missed=sum(rank.missed for rank in ranks),
        is_by_graph=is_by_graph,
    )


def _clocks(ranks: Sequence[RankEvents], announced_us: Floats, agreed_us: Floats) -> Clocks:
    heads = [rank.head for rank in ranks]
    names = [head.clock for head in heads]
    errors_us = [head.error_us for head in heads if head.error_us is not None]
    if errors_us:
        told_us = np.array(errors_us)
        return aligned_clocks(names, np.where(told_us < UNKNOWN_US, told_us, np.nan))
    walls_us = np.array([head.ahead_us for head in heads])
    return clocks_of(names, announced_us, agreed_us, walls_us)


def _buffers_of(rank: RankEvents) -> Integers:
    """Return all that a rank knows of, also where its file ends before it says more of one."""
    return np.concatenate([rank.buffers, rank.buffer_of[rank.buffer_of >= 0]])


def _pending(ranks: Sequence[RankEvents], shift_us: Floats) -> list[PendingCollective]:
    """Return the announcements that no rank has agreed on, the earliest first."""
    latest: dict[str, int] = {}
    for rank in ranks:
        for name, buffer in zip(rank.names, rank.buffer_of.tolist(), strict=True):
            latest[name] = max(buffer, latest.get(name, -1))
    announced: dict[str, dict[int, float]] = {}
    failed: set[str] = set()
    for rank, ahead_us in zip(ranks, shift_us, strict=True):
        last = int(_buffers_of(rank).max(initial=-1))
        for place in np.flatnonzero(np.isnan(rank.agreed_us)):
            name = rank.names[place]
            # Buffers come in the same order everywhere: here the file ends before this one.
            if latest[name] <= last:
                at_us = float(rank.announced_us[place] - ahead_us)
                announced.setdefault(name, {})[rank.head.rank] = at_us
                if rank.has_failed[place]:
                    failed.add(name)
    found = [
        PendingCollective(name, list(by), max(by.values()), name in failed)
        for name, by in announced.items()
    ]
    return sorted(found, key=lambda pending: pending.at_us)
