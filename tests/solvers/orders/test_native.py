"""The native searches equal their plain twin, whatever came before, and refuse what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchkit import datacenters
from order_strategies import rounds_forms, trees_forms
from plink.solvers import _native
from plink.solvers.collectives import papers
from plink.solvers.collectives.cost import latency_cost
from ring_strategies import distance_matrices

_SEEDS = st.integers(0, (1 << 63) - 1)


def _rounds(form, distance, order, seed):
    edges = _edges([step.edges for step in form.rounds])
    weights = [step.weight for step in form.rounds]
    return _native.RoundsAnnealing(distance, edges, weights, list(order), seed)


def _edges(rounds):
    return [np.array(edges, dtype=np.int64).reshape(-1, 2) for edges in rounds]


def _trees(form, distance, order, seed):
    parents = [tree.tolist() for tree in form.parents]
    return _native.TreesAnnealing(distance, parents, list(order), seed)


@given(distance_matrices(3, 20), _SEEDS, st.floats(0.01, 100.0), st.data())
def test_the_cost_of_rounds_equals_its_twin(distance, seed, heat, data):
    size = len(distance)
    form = data.draw(rounds_forms(size))
    search = _rounds(form, distance, data.draw(st.permutations(range(size))), seed)
    before = search.best_cost
    assert before == pytest.approx(latency_cost(form, distance, search.best))
    for softness in (heat, heat / 10.0):
        search.run(500, softness, heat / 20.0)
        # So few hosts have a level for every distance.
        now = latency_cost(form, distance, search.current)
        assert search.current_cost == pytest.approx(now)
        assert sorted(search.current) == list(range(size))
    assert search.best_cost <= before
    assert search.best_cost == pytest.approx(latency_cost(form, distance, search.best))


@given(distance_matrices(3, 20), _SEEDS, st.floats(0.01, 100.0), st.data())
def test_the_cost_of_trees_equals_its_twin(distance, seed, heat, data):
    size = len(distance)
    form = data.draw(trees_forms(size))
    search = _trees(form, distance, data.draw(st.permutations(range(size))), seed)
    before = search.best_cost
    assert before == pytest.approx(latency_cost(form, distance, search.best))
    for softness in (heat, heat / 10.0):
        search.run(500, softness, heat / 20.0)
        now = latency_cost(form, distance, search.current)
        assert search.current_cost == pytest.approx(now)
        assert sorted(search.current) == list(range(size))
    assert search.best_cost <= before
    assert search.best_cost == pytest.approx(latency_cost(form, distance, search.best))


def test_levels_of_many_hosts_differ_little_from_their_distances():
    distance = datacenters.unequal(128, 1).distance
    form = papers.HALVING_DOUBLING.form(128)
    search = _rounds(form, distance, range(128), 1)
    search.run(20_000, 5.0, 0.5)
    plain = latency_cost(form, distance, search.current)
    assert search.current_cost == pytest.approx(plain, rel=0.005)
    assert search.best_cost == pytest.approx(latency_cost(form, distance, search.best), rel=1e-12)


@pytest.mark.parametrize("family", ["rounds", "trees"])
def test_the_same_calls_give_the_same_answer_and_a_restart_keeps_the_best(family):
    distance = datacenters.uniform(64, 2).distance
    found = []
    for _ in range(2):
        if family == "rounds":
            search = _rounds(papers.BCUBE.form(64), distance, range(64), 5)
            search.run(5000, 10.0, 1.0)
        else:
            search = _trees(papers.TREE.form(64), distance, range(64), 5)
            search.run(5000, 10.0, 1.0)
        found.append((search.best, search.best_cost, search.current))
        search.restart(list(range(64)))
        assert search.current == list(range(64))
        assert (search.best, search.best_cost) == found[-1][:2]
    assert found[0] == found[1]


_FOUR = np.ones((4, 4)) - np.eye(4)


@pytest.mark.parametrize(
    ("rounds", "weights", "order", "message"),
    [
        ([], [], [0, 1, 2, 3], "no rounds"),
        ([[(0, 1)]], [1.0, 1.0], [0, 1, 2, 3], "fit"),
        ([[]], [1.0], [0, 1, 2, 3], "no edges"),
        ([[(0, 4)]], [1.0], [0, 1, 2, 3], "fit"),
        ([[(-1, 0)]], [1.0], [0, 1, 2, 3], "fit"),
        ([[(0, 1)]], [1.0], [0, 1, 2], "fit"),
        ([[(0, 1)]], [1.0], [0, 1, 2, 2], "permutation"),
    ],
)
def test_wrong_rounds_are_refused(rounds, weights, order, message):
    with pytest.raises(ValueError, match=message):
        _native.RoundsAnnealing(_FOUR, _edges(rounds), weights, order, 1)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([], "no trees"),
        ([[-1, 0, 0]], "fit"),
        ([[-1, 0, 0, 4]], "no tree"),
        ([[-1, 0, 0, -3]], "no tree"),
        ([[-1, -1, 0, 0]], "no tree"),
        ([[1, 0, 0, 0]], "no tree"),
        ([[-1, 2, 1, 0]], "no tree"),
    ],
)
def test_wrong_trees_are_refused(parents, message):
    with pytest.raises(ValueError, match=message):
        _native.TreesAnnealing(_FOUR, parents, [0, 1, 2, 3], 1)
