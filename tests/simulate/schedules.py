"""Schedules to try things on."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from plink.simulate.schedule import COMPUTE, RECEIVE, SEND, Schedule


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any that ends: every operation may wait for earlier ones of its rank."""
    ranks = draw(st.integers(2, 5))
    rows: list[tuple[int, int, int, int, int]] = []
    edges: list[tuple[int, int]] = []

    def add(kind: int, rank: int, peer: int, amount: int, tag: int) -> None:
        earlier = [number for number, row in enumerate(rows) if row[1] == rank]
        if earlier:
            chosen = draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True))
            edges.extend((before, len(rows)) for before in chosen)
        rows.append((kind, rank, peer, amount, tag))

    for _ in range(draw(st.integers(0, 8))):
        source = draw(st.integers(0, ranks - 1))
        amount = draw(st.integers(0, 1 << 40))
        if draw(st.booleans()):
            add(COMPUTE, source, -1, amount, 0)
            continue
        target = (source + draw(st.integers(1, ranks - 1))) % ranks
        tag = draw(st.integers(0, 3))
        if any(row[:3] == (SEND, source, target) and row[4] == tag for row in rows):
            tag = 4 + len(rows)
        add(SEND, source, target, amount, tag)
        add(RECEIVE, target, source, amount, tag)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Schedule(ranks, *columns, *np.array(edges, dtype=np.int64).reshape(-1, 2).T)


def content(schedule: Schedule) -> tuple[int, list[object]]:
    """What it says, whatever the sequence in which operations of different ranks stand."""
    by_rank = np.argsort(schedule.rank, kind="stable")
    place = np.empty(schedule.operations, dtype=np.int64)
    place[by_rank] = np.arange(schedule.operations)
    rows = [
        tuple(int(getattr(schedule, name)[one]) for name in ("kind", "rank", "peer", "amount"))
        + ((int(schedule.tag[one]),) if schedule.kind[one] != COMPUTE else ())
        for one in by_rank
    ]
    edges = sorted(
        zip(place[schedule.before].tolist(), place[schedule.after].tolist(), strict=True)
    )
    return schedule.ranks, [*rows, *edges]
