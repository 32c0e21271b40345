"""The plain twin is right: moves against recomputed costs, bounds against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.solvers.ring import reference
from ring_strategies import distance_matrices


@given(distance_matrices(4, 10), st.data())
def test_a_reversals_gain_is_the_difference_of_the_costs(distance, data):
    size = len(distance)
    order = data.draw(st.permutations(range(size)))
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size - 1))
    moved = [*order[:first], *reversed(order[first : last + 1]), *order[last + 1 :]]
    expected = reference.ring_cost(distance, order) - reference.ring_cost(distance, moved)
    assert reference.reversal_gain(distance, order, first, last) == pytest.approx(
        expected, abs=1e-9
    )


@given(distance_matrices(4, 10), st.data())
def test_a_moves_gain_is_the_difference_of_the_costs(distance, data):
    size = len(distance)
    order = data.draw(st.permutations(range(size)))
    first = data.draw(st.integers(0, size - 2))
    last = data.draw(st.integers(first, min(first + 2, size - 2)))
    to = data.draw(st.sampled_from([*range(first), *range(last + 1, size)]))
    segment = order[first : last + 1]
    moved = []
    for position, city in enumerate(order):
        if not first <= position <= last:
            moved.append(city)
        if position == to:
            moved.extend(segment)
    expected = reference.ring_cost(distance, order) - reference.ring_cost(distance, moved)
    assert reference.move_gain(distance, order, first, last, to) == pytest.approx(
        expected, abs=1e-9
    )


@given(distance_matrices(3, 6), st.data())
def test_a_one_tree_is_the_least_of_all_one_trees(distance, data):
    size = len(distance)
    penalty = data.draw(
        st.lists(st.floats(-50, 50, width=32), min_size=size, max_size=size), label="penalty"
    )
    weight = distance + np.add.outer(penalty, penalty)
    edges = list(itertools.combinations(range(1, size), 2))
    trees = (
        tree for tree in itertools.combinations(edges, size - 2) if _is_connected(tree, size - 1)
    )
    spanning = min(sum(weight[edge] for edge in tree) for tree in trees)
    expected = spanning + sum(sorted(weight[0, 1:])[:2]) - 2 * sum(penalty)
    assert reference.one_tree_length(distance, penalty) == pytest.approx(expected, abs=1e-6)


def _is_connected(edges, cities):
    reached = {1}
    for _ in edges:
        for a, b in edges:
            if a in reached or b in reached:
                reached |= {a, b}
    return len(reached) == cities
