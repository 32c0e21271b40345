"""Lower bounds are below every order's cost, and close to it where that is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forms
from benchkit import ring_instances
from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.bounds.rounds import Pattern, ShortPairs, adjacency, find_digit
from plink.solvers.collectives.cost import Prices
from plink.solvers.collectives.form import RoundsForm
from plink.solvers.collectives.registry import find
from plink.solvers.limits import Deadline
from ring_strategies import distance_matrices

EVERY = {size: np.array(list(itertools.permutations(range(size)))) for size in range(2, 8)}


def cheapest(form, distance):
    return Prices(form, distance).price_all(EVERY[form.ranks]).min()


@given(distance_matrices(2, 6), st.sampled_from(forms.ANY))
def test_bound_is_never_above_the_cheapest_order(distance, name):
    form = forms.form_of(name, len(distance))
    bound = lower_bound(form, distance, Deadline(0.05))
    assert 0.0 <= bound <= cheapest(form, distance) * (1 + 1e-12)


@settings(max_examples=10)
@given(distance_matrices(8, 8), st.sampled_from(forms.EIGHT), st.data())
def test_bound_of_eight_ranks_is_never_above_an_order(distance, name, data):
    form = forms.form_of(name, 8)
    order = np.array([data.draw(st.permutations(range(8)))])
    heads = np.array(list(itertools.islice(itertools.permutations(range(8)), 0, None, 17)))
    cost = Prices(form, distance).price_all(np.concatenate([order, heads])).min()
    assert lower_bound(form, distance, Deadline(0.05)) <= cost * (1 + 1e-12)


def planted(name, size, seed):
    """Distances in which an order is cheap, and what that order costs."""
    rng = np.random.default_rng(seed)
    form = find(name).form(size)
    distance = np.triu(rng.uniform(50.0, 90.0, (size, size)), 1)
    for number, step in enumerate(form.rounds):
        low, high = step.edges.min(axis=1), step.edges.max(axis=1)
        distance[low, high] = rng.uniform(9.0, 10.0, len(low)) * (1 + number)
    order = rng.permutation(size)
    shuffled = np.zeros((size, size))
    shuffled[np.ix_(order, order)] = distance + distance.T
    return form, shuffled, Prices(form, shuffled).price_all(order[None, :])[0]


@pytest.mark.parametrize(
    ("name", "size"), [("halving-doubling", 64), ("halving-doubling", 16), ("bcube", 64)]
)
def test_bound_stays_below_a_planted_order_and_comes_near(name, size):
    form, distance, cost = planted(name, size, seed=size)
    assert 0.9 * cost <= lower_bound(form, distance, Deadline(5.0)) <= cost


def test_ring_of_points_on_a_circle_is_bounded_closely():
    distance, _, cost = ring_instances.circle(40, seed=1)
    bound = lower_bound(find("ring").form(40), distance, Deadline(5.0))
    assert 0.99 * cost <= bound <= cost


def test_every_leaf_pays_for_the_way_between_two_racks():
    # From wherever the root is, half of the hosts are far away.
    distance, _ = ring_instances.racks([16, 16], seed=3, near=1.0, far=100.0)
    form = forms.form_of("single tree", 32)
    bound = lower_bound(form, distance, Deadline(3.0))
    cheap = np.concatenate([np.flatnonzero(distance[0] <= 1.0), np.flatnonzero(distance[0] > 1.0)])
    cost = Prices(form, distance).price_all(cheap[None, :])[0]
    assert 50.0 <= bound <= cost


def test_rounds_of_which_racks_hold_only_some_are_bounded_by_the_way_out():
    distance, _ = ring_instances.racks([8] * 4, seed=5, near=1.0, far=100.0)
    bound = lower_bound(find("halving-doubling").form(32), distance, Deadline(3.0))
    assert bound == pytest.approx(3 * 1.0 + 2 * 100.0)


@pytest.mark.parametrize("base", [2, 3, 4])
def test_no_ranks_have_more_pairs_among_them_than_the_first(base):
    digits, copies = {2: (2, 3), 3: (1, 3), 4: (1, 2)}[base]
    size = base**digits * copies
    edges = find(f"bcube:{base}").form(base ** (digits + 1)).rounds[:digits]
    whole = RoundsForm(size, [])
    rounds = []
    for step in edges:
        one = step.edges[(step.edges < base**digits).all(axis=1)]
        shifted = [one + copy * base**digits for copy in range(copies)]
        rounds.append(adjacency(np.concatenate(shifted), whole.ranks))
    found = [find_digit(one) for one in rounds]
    assert None not in found
    pattern = Pattern(rounds, found)
    union = np.logical_or.reduce(rounds)
    for count in range(size + 1):
        chosen = itertools.combinations(range(size), count)
        most = max(int(union[np.ix_(some, some)].sum()) // 2 for some in chosen)
        assert pattern.most_inside[count] == most


@given(distance_matrices(4, 8), st.data())
def test_what_a_graph_does_hold_is_not_forbidden(distance, data):
    size = len(distance)
    name = data.draw(st.sampled_from(["folded", "all pairs", "uneven"]))
    chosen = forms.form_of(name, size).rounds
    rounds = [adjacency(step.edges, size) for step in chosen if len(step.edges) > 0]
    rounds = data.draw(st.lists(st.sampled_from(rounds), min_size=1, max_size=3))
    pattern = Pattern(rounds, [find_digit(one) for one in rounds])
    order = np.array(data.draw(st.permutations(range(size))))
    union = np.logical_or.reduce(rounds)
    threshold = float(distance[np.ix_(order, order)][union].max())
    hosts = ShortPairs(distance)
    assert hosts.can_hold(pattern, threshold)
    assert hosts.quick_threshold(pattern) <= threshold
    assert hosts.cut_threshold(pattern, Deadline(60.0)) <= threshold


def test_distances_must_fit_the_form():
    with pytest.raises(ValueError, match=r"expected \(4, 4\)"):
        lower_bound(find("ring").form(4), np.zeros((3, 3)), Deadline(1.0))
    with pytest.raises(ValueError, match="not symmetric"):
        lower_bound(find("ring").form(3), np.triu(np.ones((3, 3)), 1), Deadline(1.0))
