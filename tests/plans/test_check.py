"""A forest passes if, and only if, it adds everything up once and tells everyone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plans.server_strategies import is_right
from plans.strategies import forests, two_by_two
from plink.base.replacing import replace
from plink.plans.check import BrokenForestError, check
from plink.plans.forest import Forest, make_forest

TREES = {"reduce_parents": "reduction", "broadcast_parents": "broadcast"}
FIELDS = st.sampled_from(sorted(TREES))


def refused(forest: Forest) -> str:
    with pytest.raises(BrokenForestError) as caught:
        check(forest)
    text = str(caught.value)
    assert text.isprintable()
    assert not text.endswith(".")
    return text


def with_parent(forest: Forest, field: str, route: int, rank: int, parent: int) -> Forest:
    parents = getattr(forest, field).copy()
    parents[route, rank] = parent
    return replace(forest, **{field: parents})


def below(parents: list[int], rank: int) -> list[int]:
    """The ranks in whose way to the root a rank is."""
    found = []
    for start in range(len(parents)):
        above = parents[start]
        while above not in (-1, rank):
            above = parents[above]
        if above == rank:
            found.append(start)
    return found


@given(forests())
def test_trees_pass(forest: Forest) -> None:
    check(forest)


@given(forests(least_ranks=2), FIELDS, st.data())
def test_a_second_root_is_named(forest: Forest, field: str, data: st.DataObject) -> None:
    route = data.draw(st.integers(0, forest.routes - 1))
    root = int(np.argmin(getattr(forest, field)[route]))
    rank = data.draw(st.integers(0, forest.ranks - 1).filter(lambda rank: rank != root))
    first, second = sorted([root, rank])
    said = refused(with_parent(forest, field, route, rank, -1))
    assert said == (
        f"route {route}: the {TREES[field]} tree has 2 roots: ranks {first} and {second}"
    )


@given(forests(least_ranks=2), FIELDS, st.data())
def test_a_missing_root_is_named(forest: Forest, field: str, data: st.DataObject) -> None:
    route = data.draw(st.integers(0, forest.routes - 1))
    root = int(np.argmin(getattr(forest, field)[route]))
    parent = data.draw(st.integers(0, forest.ranks - 1).filter(lambda rank: rank != root))
    said = refused(with_parent(forest, field, route, root, parent))
    assert said == f"route {route}: the {TREES[field]} tree has no root"


@given(forests(), FIELDS, st.data())
def test_a_parent_that_is_not_there_is_named(forest: Forest, field: str, data: st.DataObject):
    route = data.draw(st.integers(0, forest.routes - 1))
    rank = data.draw(st.integers(0, forest.ranks - 1))
    parent = data.draw(st.sampled_from([-3, forest.ranks, rank, -(1 << 31), (1 << 31) - 1]))
    said = refused(with_parent(forest, field, route, rank, parent))
    what = "makes rank {} its own parent" if parent == rank else f"has {parent} as the parent of"
    assert said.startswith(f"route {route}: the {TREES[field]} tree {what.format(rank)}")
    assert f"rank {rank}" in said


@given(forests(least_ranks=3), FIELDS, st.data())
def test_a_cycle_is_named(forest: Forest, field: str, data: st.DataObject) -> None:
    route = data.draw(st.integers(0, forest.routes - 1))
    parents = getattr(forest, field)[route].tolist()
    inner = [rank for rank in range(forest.ranks) if parents[rank] >= 0 and below(parents, rank)]
    assume(inner)
    rank = data.draw(st.sampled_from(inner))
    lower = data.draw(st.sampled_from(below(parents, rank)))
    said = refused(with_parent(forest, field, route, rank, lower))
    arrives = "contribution of rank" if field == "reduce_parents" else "result never arrives"
    assert said.startswith(f"route {route}: the {arrives}")
    assert said.endswith("wait for each other")
    named = said[said.index(": ranks ") :]
    # Of many ranks three are named.
    assert " more " in named or {str(rank), str(lower)} <= set(re.findall(r"\d+", named))


@given(forests(), st.data())
def test_a_weight_that_is_none_is_named(forest: Forest, data: st.DataObject) -> None:
    route = data.draw(st.integers(0, forest.routes - 1))
    weights = forest.weights.copy()
    weights[route] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, -1e-9]))
    said = refused(replace(forest, weights=weights))
    assert said.startswith(f"route {route}: its weight is {weights[route]:g}, expected")


def test_the_two_trees_of_a_route_have_one_root():
    forest = two_by_two()
    moved = replace(forest, broadcast_parents=np.roll(forest.broadcast_parents, 1, axis=0))
    shown = refused(moved)
    assert shown.startswith("route 0: the root is rank 0 in the reduction tree, but rank 3")


def test_weights_sum_up_to_something_finite():
    forest = two_by_two()
    for weights in (np.zeros(4), np.full(4, 1e308)):
        assert "a finite sum above 0" in refused(replace(forest, weights=weights))


def test_shapes_fit():
    forest = two_by_two()
    assert "differ in the number of routes" in refused(replace(forest, weights=np.ones(3)))
    fewer = forest.broadcast_parents[:, :3]
    assert "different shapes" in refused(replace(forest, broadcast_parents=fewer))


def test_long_lists_are_cut():
    parents = np.full((1, 9), -1, dtype=np.int32)
    said = refused(make_forest([1.0], parents, parents))
    assert said.endswith("has 9 roots: ranks 0, 1, 2 and 6 more")


def test_a_cycle_beside_the_tree_is_found_where_everything_else_is_right():
    up = [[-1, 0, 3, 2]]
    down = [[-1, 0, 0, 0]]
    assert refused(make_forest([1.0], up, down)) == (
        "route 0: the contribution of rank 2 never arrives at rank 0: "
        "ranks 2 and 3 wait for each other"
    )
    assert refused(make_forest([1.0], down, up)) == (
        "route 0: the result never arrives at rank 2: ranks 2 and 3 wait for each other"
    )


@given(forests(), st.integers(0, 1 << 30), st.integers(-1, 7))
def test_what_passes_is_what_a_replay_ends_well_with(
    forest: Forest, place: int, parent: int
) -> None:
    """With one parent of one tree set at random, which breaks most of them."""
    for parents in (forest.reduce_parents, forest.broadcast_parents):
        parents.flat[place % parents.size] = parent
        try:
            check(forest)
            is_passed = True
        except BrokenForestError:
            is_passed = False
        assert is_passed == is_right(forest, np.zeros(forest.ranks, dtype=bool))
