"""Deadlines, and what is done natively under them: equal to its plain twins."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

from benchkit import datacenters
from order_strategies import rounds_forms, trees_forms
from plink.solvers import _native
from plink.solvers.collectives.cost import Prices, latency_cost
from plink.solvers.collectives.form import RingForm
from plink.solvers.components import component_sizes, components
from plink.solvers.distances import check_distances
from plink.solvers.limits import Deadline
from plink.solvers.linkages import linkage
from plink.solvers.slots.layout import RankLayout, cost_with_slots
from ring_strategies import distance_matrices


def test_a_part_ends_no_later_and_stops_with_the_whole():
    whole = Deadline(60.0)
    half, longer = whole.part(0.5), whole.within(600.0)
    assert 29.0 < half.left_s <= 30.0
    assert longer.left_s <= 60.0
    assert not whole.is_over
    half.stop()
    assert whole.is_over
    assert longer.is_over
    assert whole.left_s == 0.0


def test_what_is_done_in_any_case_has_its_time_and_stops_with_the_whole():
    whole = Deadline(0.0)
    assert 29.0 < whole.at_least(30.0).left_s <= 30.0
    assert Deadline(60.0).at_least(1.0).left_s > 59.0
    part = whole.at_least(30.0).part(0.5)
    whole.stop()
    assert part.is_over
    assert whole.at_least(30.0).is_over


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_no_time_is_over(seconds):
    assert Deadline(seconds).is_over


def test_very_much_time_is_not_over():
    assert not Deadline(1e300).is_over


def test_what_has_no_time_is_not_made():
    distance = datacenters.uniform(256, 1).distance
    over = Deadline(0.0)
    with pytest.raises(TimeoutError):
        _native.TreesAnnealing(distance, [[-1, *range(255)]], list(range(256)), 1, over)
    assert _native.nearest_lists(distance, 3, over) == [[]] * 256
    assert sorted(_native.nearest_neighbour_ring(distance, 7, over)) == list(range(256))
    ascent = _native.Ascent(distance, 1e6)
    begin_s = time.process_time()
    assert not ascent.run(1_000_000, over)
    assert time.process_time() - begin_s < 5.0


@given(distance_matrices(3, 12), st.data())
def test_prices_equal_the_plain_evaluators(distance, data):
    size = len(distance)
    draw = st.one_of(rounds_forms(size), trees_forms(size), st.just(RingForm(size)))
    form = data.draw(draw)
    orders = data.draw(st.lists(st.permutations(range(size)), min_size=1, max_size=4))
    prices = Prices(form, distance)
    found = prices.price_first(np.array(orders, dtype=np.int64), Deadline(60.0), least=1)
    assert found == pytest.approx([latency_cost(form, distance, order) for order in orders])


@given(distance_matrices(3, 5), st.data())
def test_prices_of_slots_equal_the_plain_evaluator(distance, data):
    hosts = len(distance)
    slots = data.draw(st.lists(st.integers(1, 3), min_size=hosts, max_size=hosts))
    ranks = data.draw(st.integers(3, sum(slots)))
    layout = RankLayout(slots, ranks)
    form = data.draw(st.one_of(rounds_forms(ranks), trees_forms(ranks), st.just(RingForm(ranks))))
    order = data.draw(st.permutations(range(hosts)))
    found = Prices(form, distance, slots, ranks).of(order)
    assert found == pytest.approx(cost_with_slots(form, distance, layout, order))


def test_one_order_is_priced_in_any_case():
    distance = datacenters.uniform(32, 1).distance
    orders = np.array([np.random.default_rng(i).permutation(32) for i in range(100)])
    assert len(Prices(RingForm(32), distance).price_first(orders, Deadline(0.0), least=1)) == 1


@pytest.mark.parametrize("kind", ["average", "single"])
@pytest.mark.parametrize("size", [2, 3, 40])
def test_trees_of_clusters_are_scipys(kind, size):
    distance = datacenters.unequal(size, 3).distance
    expected = scipy_linkage(squareform(distance), kind)
    assert linkage(distance, kind, Deadline(60.0)) == pytest.approx(expected)


def test_parts_of_a_graph():
    edges = np.array([(0, 3), (3, 5), (1, 2), (6, 2)])
    part_of = components(8, edges[:, 0], edges[:, 1])
    assert part_of.tolist() == [0, 1, 1, 0, 2, 0, 1, 3]
    graph = np.zeros((8, 8), dtype=bool)
    graph[edges[:, 0], edges[:, 1]] = graph[edges[:, 1], edges[:, 0]] = True
    assert component_sizes(graph) == [3, 3, 1, 1]


@pytest.mark.parametrize(
    ("value", "place", "fault"),
    [
        (-1.0, (3, 200), "negative or not finite"),
        (np.nan, (200, 3), "negative or not finite"),
        (np.inf, (3, 200), "negative or not finite"),
        (1.0, (3, 200), "symmetric"),
        (1.0, (7, 7), "symmetric"),
    ],
)
def test_what_is_no_distance_is_told(value, place, fault):
    matrix = datacenters.uniform(256, 1).distance
    assert _native.fault_of(matrix) is None
    matrix[place] = value
    assert fault in str(_native.fault_of(matrix))


def test_what_passed_is_not_looked_at_again(monkeypatch):
    looks = []
    fault_of = _native.fault_of
    monkeypatch.setattr(_native, "fault_of", lambda matrix: looks.append(1) or fault_of(matrix))
    matrix = datacenters.uniform(16, 1).distance
    passed = check_distances(matrix, 16)
    assert check_distances(passed, 16) is passed
    assert len(looks) == 1
    with pytest.raises(ValueError, match="read-only"):
        passed[0, 1] = -1.0
    with pytest.raises(ValueError, match="expected"):
        check_distances(passed, 15)


def test_what_was_written_to_since_is_looked_at_again():
    matrix = datacenters.uniform(16, 1).distance
    check_distances(matrix, 16)
    matrix[3, 2] = -1.0
    with pytest.raises(ValueError, match="negative"):
        check_distances(matrix, 16)


def test_what_can_be_written_to_again_is_looked_at_again():
    passed = check_distances(datacenters.uniform(16, 1).distance, 16)
    passed.flags.writeable = True
    passed[3, 2] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        check_distances(passed, 16)
