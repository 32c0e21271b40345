"""Any forest with servers that is right, and a replay that knows nothing of how it is checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from plans.strategies import WEIGHTS, trees
from plink.plans.check import Flags
from plink.plans.forest import ABSENT, NO_PARENT, Forest, make_forest


@st.composite
def forests_with_servers(draw: st.DrawFn) -> tuple[Forest, Flags]:
    """A few routes over a few ranks, at least one of them a worker and one a server."""
    ranks = draw(st.integers(2, 7))
    roles = draw(
        st.lists(st.booleans(), min_size=ranks, max_size=ranks).filter(
            lambda drawn: any(drawn) and not all(drawn)
        )
    )
    is_server = np.array(roles)
    up, down = [], []
    for _ in range(draw(st.integers(1, 3))):
        servers = np.flatnonzero(is_server).tolist()
        there = set(np.flatnonzero(~is_server).tolist())
        there |= set(draw(st.lists(st.sampled_from(servers), unique=True)))
        members = sorted(there)
        root = draw(st.integers(0, len(members) - 1))
        up.append(_among(ranks, members, draw(trees(len(members), root)), is_server))
        down.append(_among(ranks, members, draw(trees(len(members), root))))
    weights = [draw(WEIGHTS) for _ in up]
    return make_forest(weights, up, down), is_server


def _among(
    ranks: int, members: Sequence[int], tree: Sequence[int], is_server: Flags | None = None
) -> list[int]:
    """A tree over members, as one over all ranks; servers that are leaves are taken out."""
    parents = [ABSENT] * ranks
    for place, parent in enumerate(tree):
        parents[members[place]] = members[parent] if parent >= 0 else NO_PARENT
    while is_server is not None:
        idle = [
            rank
            for rank, parent in enumerate(parents)
            if parent >= 0 and is_server[rank] and rank not in parents
        ]
        if not idle:
            break
        for rank in idle:
            parents[rank] = ABSENT
    return parents


def is_right(forest: Forest, is_server: Flags) -> bool:
    """Play every route message by message: who sends what he has, once all below him have sent."""
    pairs = zip(forest.reduce_parents.tolist(), forest.broadcast_parents.tolist(), strict=True)
    return all(_aggregates(up, down, is_server.tolist()) for up, down in pairs)


def _aggregates(up: Sequence[int], down: Sequence[int], is_server: Sequence[bool]) -> bool:
    ranks = range(len(up))
    workers = [rank for rank in ranks if not is_server[rank]]
    there = [rank for rank in ranks if up[rank] != ABSENT]
    if any(parent < ABSENT or parent >= len(up) for parent in [*up, *down]):
        return False
    roots = [rank for rank in ranks if up[rank] == NO_PARENT]
    if len(roots) != 1 or [rank for rank in ranks if down[rank] == NO_PARENT] != roots:
        return False
    held = {rank: [] if is_server[rank] else [rank] for rank in there}
    sent: set[int] = set()
    for _ in ranks:
        for rank in there:
            waits = any(up[child] == rank and child not in sent for child in there)
            if rank in sent or waits or rank in roots:
                continue
            if up[rank] not in held or not held[rank]:
                return False
            held[up[rank]] += held[rank]
            sent.add(rank)
    if sorted(held[roots[0]]) != workers or set(there) - sent != set(roots):
        return False
    has_result = set(roots)
    for _ in ranks:
        has_result |= {rank for rank in ranks if down[rank] in has_result}
    listed = [rank for rank in ranks if down[rank] != ABSENT]
    return set(workers) <= has_result and set(listed) <= has_result
