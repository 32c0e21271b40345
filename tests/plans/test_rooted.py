"""Routes of collectives with roots of their own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plans.strategies import forests, two_by_two
from plink.plans.check import check
from plink.plans.forest import make_forest
from plink.plans.rooted import MOST_TURNED, find_roots, reroot_routes, select_rooted
from plink.solvers.forests.kinds import flat, ring


@st.composite
def rooted(draw):
    """A forest, and a rank of it."""
    forest = draw(forests())
    return forest, draw(st.integers(0, forest.ranks - 1))


def edges_of(parents):
    """The edges of a tree, whichever way they point."""
    return {frozenset((child, above)) for child, above in enumerate(parents.tolist()) if above >= 0}


@given(rooted())
def test_routes_from_a_root_are_trees_of_the_same_edges(drawn):
    forest, root = drawn
    spread = reroot_routes(forest, root)
    check(spread)
    assert (find_roots(spread) == root).all()
    used = np.flatnonzero(forest.weights > 0.0)
    assert spread.weights.tolist() == forest.weights[used].tolist()
    for place, route in enumerate(used):
        for turned, parents in (
            (spread.reduce_parents[place], forest.reduce_parents[route]),
            (spread.broadcast_parents[place], forest.broadcast_parents[route]),
        ):
            assert edges_of(turned) == edges_of(parents)


@given(rooted())
def test_routes_of_a_root_stay_as_they_are(drawn):
    forest, root = drawn
    spread = reroot_routes(forest, root)
    used = np.flatnonzero(forest.weights > 0.0)
    is_own = find_roots(forest)[used] == root
    kept = forest.reduce_parents[used][is_own]
    assert (spread.reduce_parents[is_own] == kept).all()
    if is_own.any():
        own = select_rooted(forest, root)
        assert own.weights.tolist() == forest.weights[used][is_own].tolist()
        assert (own.reduce_parents == kept).all()


@given(rooted())
def test_a_segment_has_routes_to_any_owner(drawn):
    forest, root = drawn
    found = select_rooted(forest, root)
    check(found)
    assert (found.weights > 0.0).all()
    assert (find_roots(found) == root).all()
    # Whoever knows the roots gets the same: every rank does this for itself.
    again = select_rooted(forest, root, find_roots(forest))
    assert (found.broadcast_parents == again.broadcast_parents).all()


def test_an_owner_without_a_route_gets_the_heaviest_ones():
    ranks = 20
    links = np.full(ranks - 1, 1.0)
    stars = flat(links)
    up = np.concatenate([stars.reduce_parents, np.arange(ranks - 1)[:, None]], axis=1)
    weights = [1.0 + (route % 10 == 3) for route in range(ranks - 1)]
    forest = make_forest(weights, up, up)
    found = select_rooted(forest, ranks - 1)
    assert len(found.weights) == MOST_TURNED
    # Routes 3 and 13 weigh most; among the others the first ones.
    hubs = [int(np.flatnonzero(parents == ranks - 1)[0]) for parents in found.reduce_parents]
    assert hubs == [3, 13, 0, 1, 2, 4, 5, 6]


def test_a_way_of_two_levels_is_turned_round():
    # The GM 0 of route 0 becomes a child of 2, the LM of 3's group, and 2 one of 3.
    spread = reroot_routes(two_by_two(), 3)
    assert spread.reduce_parents[0].tolist() == [2, 0, 3, -1]
    assert select_rooted(two_by_two(), 3).reduce_parents.tolist() == [[1, 3, 3, -1]]


def test_both_directions_of_a_ring_are_turned_each_by_itself():
    forest = make_forest(*ring(range(4)))
    spread = reroot_routes(forest, 1)
    # Route 0 sums along 1 2 3 0, and sends the sum along 0 1 2 3.
    assert spread.reduce_parents[0].tolist() == [3, -1, 1, 2]
    assert spread.broadcast_parents[0].tolist() == [1, -1, 1, 2]
