"""The search over hosts with slots: against brute force, its bound, and known optima."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchkit import ring_instances
from forms import form_of
from plink.solvers import _native
from plink.solvers.collectives.cost import latency_cost, ring_cost
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.registry import find
from plink.solvers.orders.latency_search import least_cost, search_by_latency
from plink.solvers.slots.bound import by_slot, slots_bound, subset_ring_bound
from plink.solvers.slots.layout import RankLayout, cost_with_slots, idle_form
from ring_strategies import distance_matrices

ANY = ("ring", "tree", "chain", "folded", "uneven", "all pairs")


def best_of(form, distance, layout):
    orders = itertools.permutations(range(layout.hosts))
    return min(cost_with_slots(form, distance, layout, order) for order in orders)


@given(distance_matrices(2, 5), st.sampled_from(ANY), st.data())
def test_small_cases_equal_brute_force_and_the_bound_is_one(distance, name, data):
    size = len(distance)
    slots = data.draw(
        st.one_of(
            st.integers(1, 3).map(lambda count: [count] * size),
            st.lists(st.integers(1, 3), min_size=size, max_size=size),
        )
    )
    layout = RankLayout(
        slots, data.draw(st.integers(2, sum(slots)).filter(lambda n: n <= sum(slots)))
    )
    form = form_of(name, layout.ranks)
    best = best_of(form, distance, layout)
    given_order = data.draw(st.permutations(range(size)))
    found = search_by_latency(
        form, distance, given_order, layout=layout, time_limit_s=20.0, proof_limit_s=5.0
    )
    assert sorted(found.order) == list(range(size))
    assert found.cost == pytest.approx(
        cost_with_slots(form, distance, layout, found.order), rel=1e-9
    )
    assert found.cost == pytest.approx(best, rel=1e-9)
    assert found.lower_bound <= best * (1 + 1e-9)
    assert slots_bound(form, distance, layout, 0.02) <= best * (1 + 1e-9)


@given(distance_matrices(3, 6), st.data())
def test_hosts_and_slots_price_alike(distance, data):
    """A form over hosts, with idle ones, costs what the form over ranks does."""
    per_host = data.draw(st.integers(1, 3))
    layout = RankLayout(
        [per_host] * len(distance), data.draw(st.integers(2, per_host * len(distance)))
    )
    name = data.draw(st.sampled_from(["folded", "uneven", "all pairs", "tree"]))
    form = form_of(name, layout.ranks)
    order = data.draw(st.permutations(range(len(distance))))
    expected = latency_cost(form, distance, layout.placement(order).tolist())
    simpler = idle_form(form, layout)
    if simpler is None:
        assert (name, per_host > 1) == ("tree", True)
    else:
        assert latency_cost(simpler, distance, order) == pytest.approx(expected, rel=1e-9)
    slots = [host * per_host + local for host in order for local in range(per_host)]
    apart = by_slot(distance, layout)
    priced = latency_cost(form, apart, slots[: layout.ranks])
    assert priced == pytest.approx(expected, rel=1e-9)


@given(distance_matrices(3, 7), st.data())
def test_rings_of_some_hosts_are_exact_by_dynamic_programming(distance, data):
    count = data.draw(st.integers(3, len(distance)))
    ring = _native.cheapest_subset_ring(distance, count)
    assert len(set(ring)) == len(ring) == count
    layout = RankLayout([1] * len(distance), count)
    best = best_of(RingForm(count), distance, layout)
    assert ring_cost(distance, ring) == pytest.approx(best, rel=1e-9)
    assert subset_ring_bound(distance, layout) <= best * (1 + 1e-9)


@given(distance_matrices(5, 12), st.data())
def test_annealing_keeps_a_ring_and_knows_its_cost(distance, data):
    count = data.draw(st.integers(4, len(distance) - 1))
    order = data.draw(st.permutations(range(len(distance))))
    search = _native.SubsetAnnealing(distance, order[:count], data.draw(st.integers(0, 9)))
    for temperature in (1e9, 1.0, 1e-9):
        search.run(50, temperature)
        ring = search.ring
        assert len(set(ring)) == len(ring) == count
        expected = ring_cost(distance, ring)
        assert search.cost == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(distance_matrices(2, 6), st.data())
def test_a_bound_without_a_search_is_below_every_order(distance, data):
    per_host = data.draw(st.integers(1, 2))
    layout = RankLayout(
        [per_host] * len(distance), data.draw(st.integers(2, per_host * len(distance)))
    )
    name = data.draw(st.sampled_from(["folded", "uneven", "all pairs", "tree"]))
    form = data.draw(st.sampled_from([RingForm(layout.ranks), form_of(name, layout.ranks)]))
    best = best_of(form, distance, layout)
    found = least_cost(form, distance, layout, range(len(distance)), 0.02)
    assert 0.0 <= found <= best * (1 + 1e-9)
    assert found == pytest.approx(best, rel=1e-9) or len(distance) > 2


@pytest.mark.parametrize("size", [12, 20])
def test_hosts_that_may_be_nowhere_apart_have_no_bound(size):
    nowhere = np.zeros((size, size))
    for form in (RingForm(size), find("tree").form(size)):
        assert least_cost(form, nowhere, RankLayout([1] * size, size), range(size), 0.1) == 0.0


def test_the_bound_of_a_large_ring_is_near_without_a_search():
    matrix, best = ring_instances.racks([8, 8, 8, 8], seed=2)
    found = least_cost(RingForm(32), matrix, RankLayout([1] * 32, 32), range(32), 20.0)
    assert 0.97 * best <= found <= best * (1 + 1e-9)


def test_whole_racks_are_chosen_and_the_bound_says_that_this_is_best():
    matrix, _ = ring_instances.racks([8, 8, 8, 8], seed=2)
    layout = RankLayout([1] * 32, 24)
    found = search_by_latency(RingForm(24), matrix, range(32), layout=layout, time_limit_s=60.0)
    assert found.cost == pytest.approx(3 * 60 + 21 * 20)
    assert found.lower_bound == pytest.approx(found.cost)
    assert found.ended_by == "bound"


@pytest.mark.parametrize(
    ("name", "hosts", "ranks", "share"),
    [("ring", 48, 36, 0.5), ("halving-doubling", 24, 16, 0.5), ("tree", 24, 18, 0.7)],
)
def test_chosen_hosts_cost_much_less_than_random_ones(name, hosts, ranks, share):
    rows = ring_instances.data_centre(hosts, 5, rack=6, racks_per_row=2)
    matrix = np.fmax(rows, rows.T)
    np.fill_diagonal(matrix, 0.0)
    layout = RankLayout([1] * hosts, ranks)
    form = find(name).form(ranks)
    found = search_by_latency(
        form, matrix, range(hosts), layout=layout, time_limit_s=1.0, proof_limit_s=0.2
    )
    rng = np.random.default_rng(1)
    random = [
        cost_with_slots(form, matrix, layout, rng.permutation(hosts).tolist()) for _ in range(101)
    ]
    assert 0.0 < found.lower_bound <= found.cost <= share * np.median(random)
    assert found.cost <= cost_with_slots(form, matrix, layout, range(hosts))


@given(distance_matrices(7, 20), st.sampled_from(ANY), st.data())
def test_never_dearer_than_the_first_hosts_as_given(distance, name, data):
    size = len(distance)
    slots = data.draw(st.lists(st.integers(1, 2), min_size=size, max_size=size))
    layout = RankLayout(slots, data.draw(st.integers(2, sum(slots))))
    form = form_of(name, layout.ranks)
    order = data.draw(st.permutations(range(size)))
    found = search_by_latency(form, distance, order, layout=layout, time_limit_s=0.02)
    assert found.cost <= cost_with_slots(form, distance, layout, order)
    assert found.lower_bound <= found.cost


def test_the_same_seed_chooses_the_same_hosts():
    rows = ring_instances.data_centre(40, 5, rack=8)
    matrix = np.fmax(rows, rows.T)
    np.fill_diagonal(matrix, 0.0)
    layout = RankLayout([2] * 40, 60)
    first, second = (
        search_by_latency(RingForm(60), matrix, range(40), layout=layout, seed=3, time_limit_s=60.0)
        for _ in range(2)
    )
    assert first == second
    assert first.ended_by == "steps"


def test_a_form_of_other_ranks_is_refused():
    with pytest.raises(ValueError, match="4 ranks"):
        search_by_latency(RingForm(4), np.zeros((4, 4)), range(4), layout=RankLayout([1] * 4, 3))


@pytest.mark.parametrize(
    "call",
    [
        lambda: _native.cheapest_subset_ring(np.zeros((17, 17)), 4),
        lambda: _native.cheapest_subset_ring(np.zeros((4, 4)), 5),
        lambda: _native.cheapest_subset_ring(np.zeros((4, 4)), 2),
        lambda: _native.SubsetAnnealing(np.zeros((6, 6)), [0, 1, 2], 0),
        lambda: _native.SubsetAnnealing(np.zeros((4, 4)), [0, 1, 2, 3], 0),
        lambda: _native.SubsetAnnealing(np.zeros((6, 6)), [0, 1, 2, 6], 0),
    ],
)
def test_the_native_searches_refuse_what_cannot_be(call):
    with pytest.raises(ValueError, match=r"fit|many"):
        call()
