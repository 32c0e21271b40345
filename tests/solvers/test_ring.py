"""The search: against brute force and generated truth, and what it promises for any matrix."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchkit import ring_instances
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.ring import ring_search
from plink.solvers.ring.ring_search import MAX_EXACT_SIZE, search_ring
from ring_reference import cheapest_ring
from ring_strategies import distance_matrices


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_hosts_have_one_ring(size):
    distance = np.full((size, size), 5.0)
    np.fill_diagonal(distance, 0.0)
    solution = search_ring(distance, list(reversed(range(size))))
    assert solution.order == list(reversed(range(size)))
    assert solution.cost == solution.lower_bound == {1: 0.0, 2: 10.0, 3: 15.0}[size]
    assert solution.ended_by == "exact"


@given(distance_matrices(4, 8))
def test_small_rings_equal_brute_force(distance):
    solution = search_ring(distance)
    expected = ring_cost(distance, cheapest_ring(distance))
    assert solution.cost == pytest.approx(expected, abs=1e-9)
    assert solution.lower_bound == solution.cost
    assert solution.cost == ring_cost(distance, solution.order)


@given(distance_matrices(13, 24), st.data())
def test_any_matrix_gets_a_ring_no_dearer_than_given_and_a_bound_below_it(distance, data):
    size = len(distance)
    order = data.draw(st.permutations(range(size)))
    solution = search_ring(distance, order, time_limit_s=0.1)
    assert sorted(solution.order) == list(range(size))
    assert solution.order[0] == order[0]
    assert solution.cost == ring_cost(distance, solution.order)
    assert solution.cost <= ring_cost(distance, order)
    assert 0.0 <= solution.lower_bound <= solution.cost


@pytest.mark.parametrize("size", [13, 40, 150])
def test_points_on_a_circle_are_visited_around_it(size):
    distance, truth, cost = ring_instances.circle(size, seed=size)
    solution = search_ring(distance, time_limit_s=20)
    assert solution.cost == pytest.approx(cost)
    assert solution.lower_bound == pytest.approx(cost, rel=1e-3)
    assert _edges(solution.order) == _edges(truth)


@pytest.mark.parametrize("sizes", [[8] * 4, [1, 2, 3, 5, 8, 13], [1] * 20, [16] * 8])
def test_racks_are_entered_once(sizes):
    distance, cost = ring_instances.racks(sizes, seed=1)
    solution = search_ring(distance, time_limit_s=20)
    assert solution.cost == pytest.approx(cost)
    assert solution.lower_bound >= 0.97 * cost


def test_the_optimum_of_an_exact_size_is_found_by_search_too():
    rng = np.random.default_rng(5)
    points = rng.random((MAX_EXACT_SIZE, 2))
    exact = search_ring(ring_instances.euclidean(points))
    # A 13th host on top of another costs nothing, and sends the matrix to the search.
    doubled = ring_instances.euclidean(np.vstack([points, points[:1]]))
    searched = search_ring(doubled, time_limit_s=20)
    assert exact.ended_by == "exact"
    assert searched.ended_by != "exact"
    assert searched.cost == pytest.approx(exact.cost)
    assert searched.lower_bound <= exact.cost * (1 + 1e-9)


def test_a_data_centre_ring_is_near_its_bound():
    measured = ring_instances.data_centre(128, seed=2)
    distance = np.nan_to_num(np.fmax(measured, measured.T))
    solution = search_ring(distance, time_limit_s=3)
    assert solution.cost <= 1.02 * solution.lower_bound


def test_an_optimal_given_order_is_returned_as_it_is():
    distance, truth, _ = ring_instances.circle(30, seed=3)
    assert search_ring(distance, truth, time_limit_s=20).order == truth
    assert search_ring(distance[:8, :8], [3, 1, 2, 0, 7, 6, 5, 4]).order[0] == 3


@pytest.mark.parametrize("most", [0, 40])
def test_an_order_names_the_hosts_as_they_were_given_though_they_are_renumbered(monkeypatch, most):
    monkeypatch.setattr(ring_search, "_MOST_RENUMBERED", most)
    distance, truth, cost = ring_instances.circle(40, seed=8)
    start = truth[7]
    solution = search_ring(distance, [start, *(i for i in range(40) if i != start)])
    assert solution.order[0] == start
    assert _edges(solution.order) == _edges(truth)
    assert solution.cost == ring_cost(distance, solution.order) == pytest.approx(cost)


def test_equal_distances_are_proven_optimal_at_once():
    distance = np.ones((50, 50)) - np.eye(50)
    solution = search_ring(distance, time_limit_s=60)
    assert solution.order == list(range(50))
    assert solution.ended_by == "bound"
    assert solution.lower_bound == pytest.approx(50.0)


def test_all_zero_distances_end_at_once():
    solution = search_ring(np.zeros((20, 20)), time_limit_s=60)
    assert solution.cost == solution.lower_bound == 0.0
    assert solution.ended_by == "bound"


def test_the_same_seed_gives_the_same_answer():
    measured = ring_instances.data_centre(40, seed=4)
    distance = np.nan_to_num(np.fmax(measured, measured.T))
    first, second = (search_ring(distance, seed=7, time_limit_s=60) for _ in range(2))
    assert first.ended_by in ("steps", "bound")
    assert first == second


@pytest.mark.parametrize(
    ("matrix", "order", "options"),
    [
        (np.zeros((0, 0)), None, {}),
        (np.zeros((2, 3)), None, {}),
        (np.zeros(4), None, {}),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), None, {}),
        (np.array([[1.0, 1.0], [1.0, 0.0]]), None, {}),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), None, {}),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), None, {}),
        (np.array([[0.0, np.inf], [np.inf, 0.0]]), None, {}),
        (np.zeros((3, 3)), [0, 1, 1], {}),
        (np.zeros((3, 3)), [0, 1], {}),
        (np.zeros((3, 3)), None, {"seed": -1}),
        (np.zeros((3, 3)), None, {"time_limit_s": 0.0}),
        (np.zeros((3, 3)), None, {"time_limit_s": float("nan")}),
    ],
)
def test_wrong_input_is_refused(matrix, order, options):
    with pytest.raises(ValueError, match=r"expected|symmetric|negative|permutation"):
        search_ring(matrix, order, **options)


def test_an_interrupt_keeps_the_best_so_far():
    distance = ring_instances.euclidean(np.random.default_rng(6).random((200, 2)))
    calls = itertools.count()

    def interrupt(_):
        if next(calls) == 1:
            raise KeyboardInterrupt

    solution = search_ring(distance, time_limit_s=60, on_progress=interrupt)
    assert solution.ended_by == "interrupt"
    assert sorted(solution.order) == list(range(200))
    assert solution.cost == ring_cost(distance, solution.order)


def _edges(order):
    return {frozenset(pair) for pair in zip(order, [*order[1:], order[0]], strict=True)}
