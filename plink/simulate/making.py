"""Schedules made of peer tables and of plans."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.optimize.plans.traffic import Traffic, traffic_bytes
from plink.plans.forest import Parents
from plink.simulate.schedule import RECEIVE, SEND, Numbers, Schedule
from plink.solvers.collectives.steps import PeerTable, Round

# Into so many parts, each through all rounds, a buffer that flows through a pipelined table is cut:
# fewer where they would be smaller than this. A ring's parts are its messages already.
_PARTS = 16
_LEAST_PART_BYTES = 32 * 1024


class _Builder:
    """Operations as they are added, sends before their receives."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self._columns: list[list[Numbers]] = [[] for _ in range(5)]
        self._edges: tuple[list[Numbers], list[Numbers]] = ([], [])
        self._count = 0

    def messages(
        self, sources: Numbers, destinations: Numbers, sizes: Numbers, tags: Numbers
    ) -> tuple[Numbers, Numbers]:
        """Return the operations of (F,) messages: (F,) sends and (F,) receives."""
        flows = len(sources)
        columns = (
            np.repeat([SEND, RECEIVE], flows),
            np.concatenate([sources, destinations]),
            np.concatenate([destinations, sources]),
            np.concatenate([sizes, sizes]),
            np.concatenate([tags, tags]),
        )
        for known, column in zip(self._columns, columns, strict=True):
            known.append(column.astype(np.int64))
        sends = np.arange(self._count, self._count + flows)
        self._count += 2 * flows
        return sends, sends + flows

    def wait(self, before: Numbers, after: Numbers) -> None:
        """Operations that begin when those at the same place have ended."""
        self._edges[0].append(before)
        self._edges[1].append(after)

    def schedule(self) -> Schedule:
        """Return all of it."""
        empty = np.zeros(0, dtype=np.int64)
        return Schedule(
            self.ranks,
            *(np.concatenate([empty, *column]) for column in self._columns),
            *(np.concatenate([empty, *edges]) for edges in self._edges),
        )


def whole_bytes(sizes_bytes: npt.ArrayLike) -> Numbers:
    """Return shares of a buffer in whole bytes."""
    return np.rint(np.asarray(sizes_bytes, dtype=np.float64)).astype(np.int64)


def schedule_of_table(table: PeerTable) -> Schedule:
    """Return the rounds of a table: what a rank does in one waits for all it did in the one before.

    The buffer of a pipelined table goes through all rounds in a few parts, each rank handling the
    parts of a round one after the other.
    """
    made = _Builder(table.ranks)
    parts = parts_of(table)
    above: list[tuple[Numbers, Numbers]] = []
    for part in range(parts):
        last = _Last(table.ranks)
        here: list[tuple[Numbers, Numbers]] = []
        for number, step in enumerate(table.rounds):
            sources, destinations, sizes = _part_of(step, part, parts)
            tags = np.full(len(sources), number * parts + part)
            sends, receives = made.messages(sources, destinations, sizes, tags)
            for own, ranks in ((sends, sources), (receives, destinations)):
                before, at = last.of(ranks)
                made.wait(before, own[at])
            if part:
                made.wait(above[number][0], sends)
                made.wait(above[number][1], receives)
            here.append((sends, receives))
            last.set(sources, sends, destinations, receives)
        above = here
    return made.schedule()


def parts_of(table: PeerTable) -> int:
    """Return into how many parts a table cuts a buffer, each of which goes through all rounds."""
    if not table.is_pipelined or not table.rounds:
        return 1
    if all(len(step.sources) == table.ranks for step in table.rounds):
        return 1
    most = max(float(step.sizes_bytes.max(initial=0.0)) for step in table.rounds)
    return max(1, min(_PARTS, int(most // _LEAST_PART_BYTES)))


def _part_of(step: Round, part: int, parts: int) -> tuple[Numbers, Numbers, Numbers]:
    """The messages of one part of a round, whose sizes add up to whole bytes of all parts."""
    keep = step.sources != step.destinations
    sizes = step.sizes_bytes[keep]
    ends = [np.rint(sizes * (number / parts)).astype(np.int64) for number in (part, part + 1)]
    return (
        step.sources[keep].astype(np.int64),
        step.destinations[keep].astype(np.int64),
        ends[1] - ends[0],
    )


class _Last:
    """Last operations of every rank."""

    def __init__(self, ranks: int) -> None:
        self._starts = np.zeros(ranks, dtype=np.int64)
        self._ends = np.zeros(ranks, dtype=np.int64)
        self._done: Numbers = np.zeros(0, dtype=np.int64)

    def of(self, ranks: Numbers) -> tuple[Numbers, Numbers]:
        """(E,) earlier operations of each of (F,) ranks, and (E,) the places of these ranks."""
        first, end = self._starts[ranks], self._ends[ranks]
        lengths = end - first
        at = np.repeat(np.arange(len(ranks)), lengths)
        offset = np.repeat(first - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        return self._done[(offset + np.arange(int(lengths.sum()))).astype(np.int64)], at

    def set(
        self, sources: Numbers, sends: Numbers, destinations: Numbers, receives: Numbers
    ) -> None:
        """Record a round; ranks without a message keep their last operations."""
        ranks = np.concatenate([sources, destinations])
        done = np.concatenate([sends, receives])
        idle = np.setdiff1d(np.arange(len(self._starts)), ranks, assume_unique=False)
        before, at = self.of(idle)
        ranks, done = np.concatenate([ranks, idle[at]]), np.concatenate([done, before])
        by_rank = np.argsort(ranks, kind="stable")
        self._done = done[by_rank]
        everyone = np.arange(len(self._starts))
        self._starts = np.searchsorted(ranks[by_rank], everyone)
        self._ends = np.searchsorted(ranks[by_rank], everyone, side="right")


def schedule_of_traffic(traffic: Traffic, ranks: int) -> Schedule:
    """Build the schedule of a collective along a plan, chunk by chunk, or straight between ranks.

    A chunk goes up its tree when all children's have come, and down when the root has all. Chunks
    of a connection go one after the other, in the turns in which they are dealt to routes.
    """
    made = _Builder(ranks)
    if traffic.routes is None or traffic.chunks_bytes is None:
        if traffic.direct_bytes is not None:
            source, destination = np.nonzero(traffic.direct_bytes)
            sizes = whole_bytes(traffic.direct_bytes[source, destination])
            made.messages(source, destination, sizes, np.zeros(len(source), dtype=np.int64))
        return made.schedule()
    weights = traffic.routes.weights / traffic.routes.weights.sum()
    ends = np.rint(np.cumsum(weights) * traffic.size_bytes)
    sizes = np.diff(ends, prepend=0.0)
    # Routes take turns, as chunks are dealt: those of one after the other would leave the next
    # route's links idle meanwhile.
    turns = []
    for route, size in enumerate(sizes.tolist()):
        if size <= 0:
            continue
        parts = max(1, round(size / max(float(traffic.chunks_bytes[route]), 1.0)))
        cuts = np.rint(np.arange(parts + 1) * (size / parts)).astype(np.int64)
        turns += [
            ((number + 0.5) / parts, route, part)
            for number, part in enumerate(np.diff(cuts).tolist())
        ]
    routes = traffic.routes
    for number, (_, route, part) in enumerate(sorted(turns)):
        trees = routes.reduce_parents[route], routes.broadcast_parents[route]
        _along(made, trees, part, 2 * number)
    return made.schedule()


def schedule_of_flows(traffic: Traffic, ranks: int) -> Schedule:
    """All that a collective sends from one rank to another as one message, all at the beginning.

    Nothing waits: what links take in any case, and next to what a pipelined plan takes.
    """
    made = _Builder(ranks)
    between = whole_bytes(traffic_bytes(traffic))
    source, destination = np.nonzero(between)
    made.messages(source, destination, between[source, destination], np.zeros_like(source))
    return made.schedule()


def _along(made: _Builder, trees: tuple[Parents, Parents], size: int, tag: int) -> None:
    """Send one chunk up a tree and down another."""
    up, down = trees
    below = np.flatnonzero(up >= 0)
    over = up[below].astype(np.int64)
    filled = np.full(len(below), size)
    sends, receives = made.messages(below, over, filled, np.full(len(below), tag))
    send_of = np.full(len(up), -1)
    send_of[below] = sends
    # A rank sends its sum when it has what its children send.
    has_own = send_of[over] >= 0
    made.wait(receives[has_own], send_of[over[has_own]])
    root_receives = receives[~has_own]
    lower = np.flatnonzero(down >= 0)
    higher = down[lower].astype(np.int64)
    filled = np.full(len(lower), size)
    sends, got = made.messages(higher, lower, filled, np.full(len(lower), tag + 1))
    got_of = np.full(len(down), -1)
    got_of[lower] = got
    has_above = got_of[higher] >= 0
    made.wait(got_of[higher[has_above]], sends[has_above])
    # The root sends the result when it has all.
    from_root = sends[~has_above]
    made.wait(np.repeat(root_receives, len(from_root)), np.tile(from_root, len(root_receives)))
