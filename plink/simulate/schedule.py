"""Schedule of ranks' operations and their dependencies: sends, receives and computing.

A schedule is a graph of operations over ranks (GOAL: Hoefler, Siebert and Lumsdaine, *Group
Operation Assembly Language*, ICPP 2009). Peer tables and plans become one (`making`), traces are
one (`traces`), SimGrid runs one (`simgrid`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

SEND, RECEIVE, COMPUTE = 0, 1, 2

# A receive from whoever sends, or of whatever tag.
ANY = -1


class BrokenScheduleError(ValueError):
    """A schedule that cannot end: what is wrong with it."""


@dataclass(frozen=True)
class Schedule:
    """Operations, each on one rank.

    Args:
        ranks: how many there are.
        kind: (V,) `SEND`, `RECEIVE` or `COMPUTE`.
        rank: (V,) whose operation it is.
        peer: (V,) to whom, or from whom; `ANY` for a receive from whoever sends, and for computing.
        amount: (V,) bytes, or nanoseconds of computing.
        tag: (V,) messages between two ranks are matched by it, in sequence; `ANY` for any.
        before, after: (E,) operation `after[e]` begins when operation `before[e]` of the same rank
            has ended.
        notes: what whoever reads it should know, as sentences.
    """

    ranks: int
    kind: Numbers
    rank: Numbers
    peer: Numbers
    amount: Numbers
    tag: Numbers
    before: Numbers
    after: Numbers
    notes: Sequence[str] = field(default=(), kw_only=True)

    @property
    def operations(self) -> int:
        """How many there are."""
        return len(self.kind)

    @property
    def bytes_sent(self) -> int:
        """Bytes sent by all ranks together."""
        return int(self.amount[self.kind == SEND].sum())

    def bytes_between(self) -> npt.NDArray[np.float64]:
        """Return (N, N) what each rank (row) sends to each other."""
        total = np.zeros((self.ranks, self.ranks))
        sends = np.flatnonzero(self.kind == SEND)
        np.add.at(total, (self.rank[sends], self.peer[sends]), self.amount[sends])
        return total


@dataclass(frozen=True)
class Messages:
    """The sends of a schedule and their receives.

    Args:
        sends, receives: (M,) operations that belong together.
    """

    sends: Numbers
    receives: Numbers


def messages_of(schedule: Schedule) -> Messages:
    """Return which receive takes which send: of the same ranks and tag, the first takes the first.

    Raises:
        BrokenScheduleError: a send without a receive, or of another size, or the reverse.
    """
    sends = np.flatnonzero(schedule.kind == SEND)
    receives = np.flatnonzero(schedule.kind == RECEIVE)
    if len(sends) != len(receives):
        raise BrokenScheduleError(f"{len(sends)} sends and {len(receives)} receives")
    is_open = (schedule.peer[receives] == ANY) | (schedule.tag[receives] == ANY)
    if is_open.any():
        return _matched_one_by_one(schedule, sends, receives)
    keys_sent = (schedule.tag[sends], schedule.peer[sends], schedule.rank[sends])
    keys_received = (schedule.tag[receives], schedule.rank[receives], schedule.peer[receives])
    sends = sends[np.lexsort(keys_sent)]
    receives = receives[np.lexsort(keys_received)]
    for at, (sent, received) in enumerate(
        (
            (schedule.rank[sends], schedule.peer[receives]),
            (schedule.peer[sends], schedule.rank[receives]),
            (schedule.tag[sends], schedule.tag[receives]),
            (schedule.amount[sends], schedule.amount[receives]),
        )
    ):
        wrong = np.flatnonzero(sent != received)
        if len(wrong):
            raise _unmatched_error(schedule, int(sends[wrong[0]]), is_size=at == 3)
    return Messages(sends, receives)


def _matched_one_by_one(schedule: Schedule, sends: Numbers, receives: Numbers) -> Messages:
    """Match receives that take any sender or tag one by one: those that name both choose first."""
    waiting: dict[int, list[int]] = {}
    for send in sends.tolist():
        waiting.setdefault(int(schedule.peer[send]), []).append(send)
    openness = (schedule.peer[receives] == ANY).astype(int) + (schedule.tag[receives] == ANY)
    taken, takers = [], []
    for receive in receives[np.argsort(openness, kind="stable")].tolist():
        peer, tag = int(schedule.peer[receive]), int(schedule.tag[receive])
        queue = waiting.get(int(schedule.rank[receive]), [])
        for place, send in enumerate(queue):
            if peer in (ANY, schedule.rank[send]) and tag in (ANY, schedule.tag[send]):
                if schedule.amount[send] != schedule.amount[receive]:
                    continue
                taken.append(queue.pop(place))
                takers.append(receive)
                break
        else:
            raise BrokenScheduleError(
                f"rank {schedule.rank[receive]} receives {schedule.amount[receive]} bytes that "
                "nobody sends"
            )
    return Messages(np.array(taken, dtype=np.int64), np.array(takers, dtype=np.int64))


def _unmatched_error(schedule: Schedule, send: int, *, is_size: bool) -> BrokenScheduleError:
    what = f"{schedule.amount[send]} bytes with tag {schedule.tag[send]}"
    lacks = "receives as another number" if is_size else "does not receive"
    return BrokenScheduleError(
        f"rank {schedule.rank[send]} sends {what}, which rank {schedule.peer[send]} {lacks}"
    )


def check(schedule: Schedule) -> Messages:
    """Replay a schedule: every byte sent is received, and no operations wait in a circle.

    Raises:
        BrokenScheduleError: it does not end.
    """
    found = messages_of(schedule)
    steps_of(schedule, found)
    return found


def steps_of(schedule: Schedule, messages: Messages | None = None) -> Numbers:
    """Return (V,) of each operation the number of messages on the longest way to its beginning.

    Args:
        schedule: of the operations.
        messages: its own (`messages_of`); None to follow what ranks wait for by themselves alone.

    Raises:
        BrokenScheduleError: operations wait for each other.
    """
    count = schedule.operations
    before, after = schedule.before, schedule.after
    hops = np.zeros(len(before), dtype=np.int64)
    if messages is None:
        # What a rank sent or received before, of itself alone.
        hops = (schedule.kind[before] != COMPUTE).astype(np.int64)
    else:
        before = np.concatenate([before, messages.sends])
        after = np.concatenate([after, messages.receives])
        hops = np.concatenate([hops, np.ones(len(messages.sends), dtype=np.int64)])
    order = np.argsort(before, kind="stable")
    starts = np.searchsorted(before[order], np.arange(count + 1))
    after, hops = after[order], hops[order]
    waits_for = np.bincount(after, minlength=count)
    step = np.zeros(count, dtype=np.int64)
    ready = np.flatnonzero(waits_for == 0)
    done = 0
    while len(ready):
        done += len(ready)
        edges = _ranges(starts[ready], starts[ready + 1])
        source = np.repeat(ready, starts[ready + 1] - starts[ready])
        target = after[edges]
        np.maximum.at(step, target, step[source] + hops[edges])
        np.subtract.at(waits_for, target, 1)
        reached = np.unique(target)
        ready = reached[waits_for[reached] == 0]
    if done < count:
        raise BrokenScheduleError(f"{count - done} operations wait for each other")
    return step


def _ranges(first: Numbers, end: Numbers) -> Numbers:
    """Return all numbers of several ranges, one range after the other."""
    lengths = end - first
    starts = np.repeat(first - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    found: Numbers = starts + np.arange(int(lengths.sum()))
    return found
