"""The native solvers equal their plain twin, hold for every slicing, and refuse what cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchkit import ring_instances
from plink.solvers import _native
from plink.solvers.collectives.cost import ring_cost
from ring_reference import cheapest_ring, one_tree_length, reversal_gain
from ring_strategies import distance_matrices


@given(distance_matrices(3, 8))
def test_the_ascent_never_passes_the_optimum(distance):
    optimum = ring_cost(distance, cheapest_ring(distance))
    ascent = _native.Ascent(distance, optimum)
    for _ in range(100):
        if ascent.run(10):
            break
    assert ascent.run(1)
    assert ascent.bound <= optimum
    assert ascent.bound >= one_tree_length(distance, [0.0] * len(distance)) - 1e-6


@given(distance_matrices(3, 7))
def test_dynamic_programming_equals_brute_force(distance):
    found = _native.cheapest_subset_ring(distance, len(distance))
    assert sorted(found) == list(range(len(distance)))
    cost = ring_cost(distance, found)
    assert cost == pytest.approx(ring_cost(distance, cheapest_ring(distance)), abs=1e-9)


@given(distance_matrices(8, 20), st.integers(0, (1 << 63) - 1), st.integers(1, 6))
def test_a_local_optimum_has_no_better_reversal_or_segment_move(distance, seed, depth):
    size = len(distance)
    everyone = [[j for j in range(size) if j != i] for i in range(size)]
    for i, others in enumerate(everyone):
        others.sort(key=lambda j, row=distance[i]: row[j])
    search = _native.Search(distance, everyone, list(range(size)), seed, 0.0, depth, 0.3)
    search.run(0, 60.0)
    assert search.is_settled
    best = search.best
    assert search.best_cost == pytest.approx(ring_cost(distance, best), abs=1e-9)
    tolerance = 1e-6 + 1e-6 * search.best_cost
    for first in range(size):
        for last in range(first, size):
            assert reversal_gain(distance, best, first, last) <= tolerance
    for length in range(1, size - 2):
        for first in range(size):
            turned = best[first:] + best[:first]
            segment, rest = turned[:length], turned[length:]
            for place in range(1, len(rest)):
                for way in (segment, segment[::-1]):
                    moved = [*rest[:place], *way, *rest[place:]]
                    assert ring_cost(distance, moved) >= search.best_cost - tolerance


@given(
    distance_matrices(8, 40),
    st.integers(0, (1 << 63) - 1),
    st.integers(1, 300),
    st.integers(1, 12),
    st.integers(0, 20),
)
def test_what_kicks_and_repairs_claim_to_change_is_what_they_change(
    distance, seed, kicks, depth, shaken
):
    size = len(distance)
    near = np.argsort(distance + 1e9 * np.eye(size), axis=1)[:, :6].tolist()
    search = _native.Search(distance, near, list(range(size)), seed, -1.0, depth, 0.3)
    search.shake(shaken)
    search.run(kicks, 60.0)
    assert search.kicks == kicks
    assert sorted(search.current) == list(range(size))
    real = ring_cost(distance, search.current)
    assert search.current_cost == pytest.approx(real, rel=1e-9, abs=1e-6)
    assert search.best_cost <= real * (1 + 1e-9) + 1e-6


def test_what_is_found_depends_on_the_kicks_not_on_the_slices():
    distance = ring_instances.euclidean(np.random.default_rng(1).random((60, 2)))
    near = np.argsort(distance + 1e9 * np.eye(60), axis=1)[:, :8].tolist()
    whole = _native.Search(distance, near, list(range(60)), 3, 0.0, 5, 0.3)
    whole.run(300, 60.0)
    sliced = _native.Search(distance, near, list(range(60)), 3, 0.0, 5, 0.3)
    for kicks in (0, 1, 99, 200):
        sliced.run(kicks, 60.0)
    assert (sliced.best, sliced.kicks) == (whole.best, 300)


def test_no_time_leaves_the_order_as_it_was():
    distance, _, _ = ring_instances.circle(40, seed=1)
    search = _native.Search(distance, [[1]] + [[0]] * 39, list(range(40)), 1, 0.0, 5, 0.3)
    search.run(1000, 0.0)
    assert (search.is_settled, search.kicks, search.best) == (False, 0, list(range(40)))


def test_equally_near_hosts_share_out_the_candidates():
    distance = np.ones((40, 40)) - np.eye(40)
    ascent = _native.Ascent(distance, 40.0)
    named = np.bincount([j for row in ascent.candidates(5, 3) for j in row], minlength=40)
    assert named.min() >= 3


def test_candidates_join_racks_that_distance_alone_would_keep_apart():
    distance, _ = ring_instances.racks([16] * 4, seed=2)
    ascent = _native.Ascent(distance, 1e6)
    ascent.run(100)
    lists = ascent.candidates(5, 3)
    sources, targets = zip(*((i, j) for i in range(64) for j in lists[i]), strict=True)
    graph = coo_array((np.ones(len(sources)), (sources, targets)), shape=(64, 64))
    assert connected_components(graph, directed=False)[0] == 1
    for i, candidates in enumerate(lists):
        assert i not in candidates
        assert len(set(candidates)) == len(candidates) <= 5 + 3 + 2
        assert [distance[i, j] for j in candidates] == sorted(distance[i, j] for j in candidates)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _native.cheapest_subset_ring(np.zeros((2, 3)), 3),
        lambda: _native.Ascent(np.zeros((2, 2)), 1.0),
        lambda: _native.Search(np.zeros((4, 4)), [[]] * 4, [0, 1, 2, 3], 0, 0.0, 5, 0.3),
        lambda: _native.Search(np.zeros((9, 9)), [[]] * 9, [0] * 9, 0, 0.0, 5, 0.3),
        lambda: _native.Search(np.zeros((9, 9)), [[9]] * 9, list(range(9)), 0, 0.0, 5, 0.3),
        lambda: _native.Search(np.zeros((9, 9)), [[]] * 8, list(range(9)), 0, 0.0, 5, 0.3),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(ValueError, match=r"cit|square|fit|permutation"):
        call()
