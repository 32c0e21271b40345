"""How far what a rank sends has to go: on long ways the farthest goes first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.forests import chains, random_forest, stars
from plink.engine.forest import native


def farthest(parents: list[int], rank: int) -> int:
    """Hops down the tree from a rank."""
    below = [child for child, parent in enumerate(parents) if parent == rank]
    return max((1 + farthest(parents, child) for child in below), default=0)


def depth(parents: list[int], rank: int) -> int:
    return 0 if parents[rank] < 0 else 1 + depth(parents, parents[rank])


@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 4))
def test_hops_are_those_of_the_trees(seed: int, ranks: int, routes: int) -> None:
    forest = random_forest(seed, ranks, routes)
    checked = native(forest)
    for route in range(routes):
        up = np.asarray(forest.reduce_parents)[route].tolist()
        down = np.asarray(forest.broadcast_parents)[route].tolist()
        root = down.index(-1)
        for rank in range(ranks):
            children = {
                child: 1 + farthest(down, child) for child in range(ranks) if down[child] == rank
            }
            wanted = (depth(up, rank), farthest(down, root), children)
            assert checked.hops(route, rank) == wanted


def test_along_a_ring_a_contribution_has_all_hops_before_it() -> None:
    ring = native(chains(5))
    assert ring.hops(0, 1) == (4, 4, {2: 3})
    assert ring.hops(0, 0) == (0, 4, {1: 4})


def test_between_two_a_contribution_goes_before_a_result() -> None:
    star = native(stars(2))
    to_root, from_root, _ = star.hops(0, 1)
    assert to_root + from_root == 2
    assert star.hops(0, 0)[2] == {1: 1}
