"""Any forest that is right, and ways to break one."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from plink.plans.forest import Forest, make_forest

WEIGHTS = st.sampled_from([1.0, 0.25, 3.5, 1e-6])


@st.composite
def trees(draw: st.DrawFn, ranks: int, root: int) -> list[int]:
    """Any tree with that root: each further rank, in any order, hangs on one before it."""
    others = [rank for rank in range(ranks) if rank != root]
    members = [root, *draw(st.permutations(others))]
    parents = [-1] * ranks
    for place in range(1, ranks):
        parents[members[place]] = members[draw(st.integers(0, place - 1))]
    return parents


@st.composite
def forests(draw: st.DrawFn, least_ranks: int = 1) -> Forest:
    """A few routes over a few ranks; one of them may have no weight."""
    ranks = draw(st.integers(least_ranks, 7))
    up, down = [], []
    for _ in range(draw(st.integers(1, 3))):
        root = draw(st.integers(0, ranks - 1))
        up.append(draw(trees(ranks, root)))
        down.append(draw(trees(ranks, root)))
    weights = [draw(WEIGHTS), *(draw(WEIGHTS | st.just(0.0)) for _ in up[1:])]
    return make_forest(weights, up, down)


def two_by_two() -> Forest:
    """2LHA of the groups {0, 1} and {2, 3}: each rank is the GM of a quarter."""
    up = [[-1, 0, 0, 2], [1, -1, 3, 1], [2, 0, -1, 2], [1, 3, 3, -1]]
    return make_forest(np.full(4, 0.25), up, up)
