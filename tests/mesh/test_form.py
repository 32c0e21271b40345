"""What a mesh's dimensions sum up, against all groups one by one; its search against all orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mesh.meshes import dimensions, racks
from plink.solvers import _native
from plink.solvers.annealing.phased_annealing import build_annealing, spread
from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.mesh import (
    CHAIN,
    Dimension,
    find_pattern,
    list_groups,
    mesh_form,
    mesh_table,
)
from plink.solvers.collectives.registry import find
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import brute_force, search_by_latency
from plink.solvers.slots.layout import RankLayout, condense_form, pad_form
from ring_strategies import distance_matrices

RING, ALL_TO_ALL = find("ring"), find("all-to-all")


def cost_by_groups(dims, distance, order):
    """The sum over dimensions and groups, each group priced by its own algorithm alone."""
    total_bytes = sum(one.size_bytes for one in dims)
    total = 0.0
    for number, one in enumerate(dims):
        if one.size == 1 or not one.size_bytes:
            continue
        form = one.algorithm.form(one.size)
        for group in list_groups([each.size for each in dims], number):
            hosts = np.asarray(order)[group]
            own = distance[np.ix_(hosts, hosts)]
            total += one.size_bytes / total_bytes * latency_cost(form, own, range(one.size))
    return total


@settings(max_examples=25)
@given(dimensions(12), st.data())
def test_a_mesh_costs_what_its_groups_do(dims, data):
    form = mesh_form(dims)
    distance = data.draw(distance_matrices(form.ranks, form.ranks))
    order = data.draw(st.permutations(range(form.ranks)))
    expected = cost_by_groups(dims, distance, order)
    assert latency_cost(form, distance, order) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25)
@given(dimensions(24))
def test_a_mesh_sends_what_its_groups_send(dims):
    table = mesh_table(dims)
    expected = np.zeros((table.ranks, table.ranks))
    for number, one in enumerate(dims):
        if one.size > 1:
            own = one.algorithm.table(one.size, one.size_bytes).bytes_between()
            for group in list_groups([each.size for each in dims], number):
                expected[np.ix_(group, group)] += own
    np.testing.assert_allclose(table.bytes_between(), expected, rtol=1e-9)


def test_a_ring_of_all_ranks_is_a_mesh_of_one_dimension():
    distance = racks([5, 4], 1)
    form = mesh_form([Dimension(9, RING, 7)])
    assert latency_cost(form, distance, range(9)) == pytest.approx(
        latency_cost(RING.form(9), distance, range(9))
    )


@settings(max_examples=30)
@given(dimensions(8), st.integers(0, 1 << 32))
def test_no_order_costs_less_than_the_bound(dims, seed):
    form = mesh_form(dims)
    rng = np.random.default_rng(seed)
    distance = racks([int(size) for size in rng.multinomial(form.ranks, [0.5, 0.3, 0.2])], seed)
    best = brute_force(form, distance, list(range(form.ranks)), Deadline(60.0))
    assert best.ended_by == "exact"
    assert lower_bound(form, distance, Deadline(5.0)) <= best.lower_bound * (1.0 + 1e-9)


@settings(max_examples=25)
@given(dimensions(8), st.integers(1, 3), st.integers(0, 1), st.integers(0, 1 << 32))
def test_nor_where_hosts_have_slots_or_are_left_out(dims, slots, spare, seed):
    form = mesh_form(dims)
    hosts = -(-form.ranks // slots) + spare
    if hosts < 2:
        return
    distance = racks([(hosts + 1) // 2, hosts // 2], seed)
    layout = RankLayout([slots] * hosts, form.ranks)
    found = search_by_latency(form, distance, range(hosts), layout=layout, time_limit_s=0.05)
    cheapest = min(
        latency_cost(form, distance, layout.placement(order).tolist())
        for order in itertools.islice(itertools.permutations(range(hosts)), 5040)
    )
    over_hosts = condense_form(form, layout.position_by_rank, hosts)
    assert lower_bound(over_hosts, distance, Deadline(5.0)) <= cheapest * (1.0 + 1e-9) + 1e-9
    assert found.lower_bound <= found.cost * (1.0 + 1e-9)


def test_some_bound_is_known_whatever_the_time():
    distance = racks([4, 4, 4, 4], 3)
    form = mesh_form([Dimension(4, RING, 1), Dimension(4, RING, 9)])
    assert lower_bound(form, distance, Deadline(0.0)) > 0.0
    found = search_by_latency(form, distance, time_limit_s=1e-6, proof_limit_s=1e-6)
    assert 0.0 < found.lower_bound <= found.cost


def test_the_bound_meets_the_cost_where_racks_hold_whole_groups():
    distance = np.where(racks([4, 4, 4, 4], 3) > 50.0, 80.0, 20.0) * (1.0 - np.eye(16))
    found = search_by_latency(mesh_form([Dimension(4, RING, 1), Dimension(4, RING, 9)]), distance)
    assert found.ended_by == "bound"
    assert found.cost == pytest.approx(0.9 * 16 * 20.0 + 0.1 * 16 * 80.0)


def native(form, distance, order, seed):
    edges = [np.ascontiguousarray(step.edges, np.int64) for step in form.rounds]
    weights = [step.weight for step in form.rounds]
    return _native.LocalRoundsAnnealing(distance, edges, weights, list(order), seed)


@settings(max_examples=30)
@given(dimensions(4), st.integers(0, (1 << 63) - 1), st.floats(0.01, 100.0), st.data())
def test_the_native_cost_equals_its_twin(dims, seed, heat, data):
    form = mesh_form([Dimension(3, CHAIN, 2), *dims])
    form = pad_form(form, form.ranks + data.draw(st.integers(0, 3)))
    distance = racks([form.ranks - 2, 2], seed)
    search = native(form, distance, data.draw(st.permutations(range(form.ranks))), seed)
    before = search.best_cost
    search.run(500, 1.0, heat)
    now = latency_cost(form, distance, search.current)
    assert search.current_cost == pytest.approx(now, abs=1e-9)
    assert sorted(search.current) == list(range(form.ranks))
    assert search.best_cost <= before
    assert search.best_cost == pytest.approx(latency_cost(form, distance, search.best))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_annealing_finds_what_all_orders_have(seed):
    form = mesh_form([Dimension(2, RING, 3), Dimension(2, CHAIN, 1), Dimension(2, RING, 9)])
    distance = racks([3, 3, 2], seed)
    best = brute_force(form, distance, list(range(8)), Deadline(60.0))
    search = build_annealing(
        form, distance, range(8), spread(distance), seed=seed, deadline=Deadline(60.0)
    )
    for step in range(20):
        search.step(step / 20, Deadline(60.0))
    assert search.best_cost == pytest.approx(best.lower_bound)


def test_a_mesh_leaves_both_the_given_order_and_one_dimension_behind():
    distance = racks([8, 8, 8, 8, 8, 8, 8, 8], 5)
    both = [Dimension(8, RING, 5), Dimension(4, CHAIN, 2), Dimension(2, RING, 6)]
    form = mesh_form(both)
    found = search_by_latency(form, distance, steps=200_000, time_limit_s=60.0)
    assert found.cost >= found.lower_bound > 0.5 * found.cost
    alone = mesh_form([both[0], Dimension(4, None, 0), Dimension(2, None, 0)])
    one = search_by_latency(alone, distance, steps=200_000, time_limit_s=60.0)
    assert found.cost < 0.95 * latency_cost(form, distance, one.order)
    assert found.cost < 0.6 * latency_cost(form, distance, range(64))


def test_a_mesh_takes_no_trees_and_nothing_unknown():
    with pytest.raises(ValueError, match="nccl-tree"):
        find_pattern("nccl-tree")
    with pytest.raises(ValueError, match="did you mean"):
        find_pattern("rinng")
    assert find_pattern("chain") is CHAIN
