"""The search: against brute force and generated truth, and what it promises for any matrix."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchkit import datacenters
from order_strategies import PAPER_FORMS, forms
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import RingForm, RoundsForm, TreesForm, WeightedRound
from plink.solvers.collectives.registry import find
from plink.solvers.limits import Deadline
from plink.solvers.linkages import order_by_clusters
from plink.solvers.orders import latency_search
from plink.solvers.orders.latency_search import anneal, search_by_latency
from plink.solvers.search import SearchOptions
from ring_strategies import distance_matrices

_SMALL = [
    *((name, ranks) for name in ("ring", "tree") for ranks in (2, 3, 5, 6)),
    ("halving-doubling", 2),
    ("halving-doubling", 4),
    ("bcube", 4),
]


@pytest.mark.parametrize(("name", "ranks"), _SMALL)
@settings(max_examples=5)
@given(st.data())
def test_few_ranks_equal_brute_force(name, ranks, data):
    distance = data.draw(distance_matrices(ranks, ranks))
    form = PAPER_FORMS[name](ranks)
    least = min(
        latency_cost(form, distance, order) for order in itertools.permutations(range(ranks))
    )
    solution = search_by_latency(form, distance)
    assert solution.cost == pytest.approx(least)
    assert solution.lower_bound == solution.cost
    assert solution.ended_by == "exact"


@pytest.mark.parametrize("name", ["ring", "halving-doubling", "bcube:2", "tree"])
def test_eight_ranks_equal_brute_force(name):
    distance = datacenters.unequal(8, 3).distance
    form = PAPER_FORMS[name](8)
    least = min(
        latency_cost(form, distance, [0, *order]) for order in itertools.permutations(range(1, 8))
    )
    # Every rank may be the first, but for a ring, halving-doubling and BCube, where all are alike.
    if name == "tree":
        assert search_by_latency(form, distance).cost <= least
    else:
        assert search_by_latency(form, distance).cost == pytest.approx(least)


@pytest.mark.parametrize(
    ("name", "draw"), [("halving-doubling", 0), ("bcube:2", 1), ("tree", 2), ("tree", 3)]
)
def test_annealing_finds_what_brute_force_does(name, draw):
    # Any distances, not those of a data centre; but no matrix made to mislead a search by chance.
    distance = np.random.default_rng(draw).uniform(1.0, 100.0, (8, 8))
    distance = np.triu(distance, 1) + np.triu(distance, 1).T
    form = PAPER_FORMS[name](8)
    found = anneal(form, distance, range(8), SearchOptions(Deadline(60.0), 1, steps=40_000))
    assert found.steps >= 40_000
    assert found.ended_by == "steps"
    assert latency_cost(form, distance, found.order) == pytest.approx(
        search_by_latency(form, distance, time_limit_s=60.0).cost
    )


@given(distance_matrices(9, 24), st.data())
def test_any_matrix_gets_an_order_no_dearer_than_given(distance, data):
    size = len(distance)
    order = data.draw(st.permutations(range(size)))
    form = data.draw(forms(size))
    threads = data.draw(st.integers(1, 2))
    solution = search_by_latency(
        form, distance, order, steps=5_000, threads=threads, proof_limit_s=0.01
    )
    assert sorted(solution.order) == list(range(size))
    assert solution.cost == latency_cost(form, distance, solution.order)
    assert solution.cost <= latency_cost(form, distance, order)
    assert 0.0 <= solution.lower_bound <= solution.cost


@pytest.mark.parametrize("name", ["halving-doubling", "bcube", "tree"])
def test_racks_that_fit_are_found(name):
    # Four racks of 16 that differ in nothing else: in the best orders far rounds, or the edges
    # near the roots, alone leave racks.
    place = np.random.default_rng(1).permutation(64)
    distance = np.where(place[:, None] // 16 == place[None, :] // 16, 20.0, 100.0)
    np.fill_diagonal(distance, 0.0)
    form = PAPER_FORMS[name](64)
    truth = np.argsort(place).tolist()
    solution = search_by_latency(form, distance, steps=400_000, time_limit_s=60.0)
    assert solution.cost <= latency_cost(form, distance, truth)


@pytest.mark.parametrize(
    ("name", "family", "share"),
    [
        ("halving-doubling", "uniform", 0.40),
        ("bcube", "unequal", 0.43),
        ("tree", "unequal", 0.45),
    ],
)
def test_data_centre_orders_cost_a_fraction_of_random_ones(name, family, share):
    distance = datacenters.FAMILIES[family](64, 7).distance
    form = PAPER_FORMS[name](64)
    rng = np.random.default_rng(1)
    random = np.median([latency_cost(form, distance, rng.permutation(64)) for _ in range(51)])
    solution = search_by_latency(form, distance, steps=1_500_000, time_limit_s=60.0)
    assert solution.ended_by == "steps"
    assert solution.cost <= share * random


@pytest.mark.parametrize("name", ["halving-doubling", "tree"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_and_steps_give_the_same_answer(name, threads):
    distance = datacenters.unequal(64, 4).distance
    form = PAPER_FORMS[name](64)
    options = {"steps": 60_000, "time_limit_s": 60.0, "threads": threads, "proof_limit_s": 0.0}
    first = search_by_latency(form, distance, seed=7, **options)
    assert first == search_by_latency(form, distance, seed=7, **options)
    assert first.order != search_by_latency(form, distance, seed=8, **options).order


@pytest.mark.parametrize("name", ["ring", "halving-doubling", "tree"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_keeps_the_best_so_far(name, threads):
    distance = datacenters.uniform(64, 1).distance
    form = PAPER_FORMS[name](64)
    calls = itertools.count()
    told = []

    def interrupt(progress):
        told.append(progress.cost)
        if next(calls) == 1:
            raise KeyboardInterrupt

    solution = search_by_latency(
        form, distance, time_limit_s=60, threads=threads, on_progress=interrupt
    )
    assert solution.ended_by == "interrupt"
    assert sorted(solution.order) == list(range(64))
    assert solution.cost == latency_cost(form, distance, solution.order)
    assert solution.cost <= min(told) * (1 + 1e-9)


def test_every_thread_has_an_evaluator_of_its_own(monkeypatch):
    users: dict[int, set[int]] = {}

    class Watched(latency_search.Prices):
        def of(self, order):
            users.setdefault(id(self), set()).add(threading.get_ident())
            return super().of(order)

    kept: list[Watched] = []

    def make(*arguments):
        kept.append(Watched(*arguments))
        return kept[-1]

    monkeypatch.setattr(latency_search, "Prices", make)
    distance = datacenters.uniform(64, 1).distance
    search_by_latency(PAPER_FORMS["tree"](64), distance, time_limit_s=0.1, threads=3)
    assert len(set.union(*users.values())) == 3
    assert all(len(threads) == 1 for threads in users.values())


def test_time_ends_a_search_and_two_threads_try_more_than_one():
    distance = datacenters.uniform(64, 1).distance
    solution = search_by_latency(PAPER_FORMS["tree"](64), distance, time_limit_s=0.05, threads=2)
    assert solution.ended_by == "time"
    assert solution.steps > 0


def test_an_order_that_cannot_be_better_is_returned_as_it_is():
    distance = np.ones((16, 16)) - np.eye(16)
    order = list(reversed(range(16)))
    for name in ("halving-doubling", "bcube", "tree"):
        solution = search_by_latency(PAPER_FORMS[name](16), distance, order, steps=5_000)
        assert solution.order == order
        if name != "tree":
            assert solution.lower_bound == pytest.approx(solution.cost)
            assert solution.ended_by == "bound"


@pytest.mark.parametrize("name", ["halving-doubling", "bcube", "tree"])
def test_a_bound_comes_with_the_answer_unless_it_is_not_wanted(name):
    distance = datacenters.uniform(16, 1).distance
    form = PAPER_FORMS[name](16)
    solution = search_by_latency(form, distance, steps=100_000, time_limit_s=60.0)
    assert 0.5 * solution.cost < solution.lower_bound <= solution.cost
    unproven = search_by_latency(
        form, distance, steps=100_000, time_limit_s=60.0, proof_limit_s=0.0
    )
    assert unproven.lower_bound == 0.0
    assert unproven.order == solution.order


@pytest.mark.parametrize(
    "form",
    [
        RoundsForm(9, []),
        RoundsForm(9, [WeightedRound(np.zeros((0, 2), dtype=np.intp))]),
        RoundsForm(9, [WeightedRound(np.array([[0, 1]]), 0.0)]),
        TreesForm(9, []),
        RoundsForm(1, []),
        TreesForm(1, [np.array([-1])]),
    ],
)
def test_a_cost_of_nothing_is_met_at_once(form):
    distance = np.ones((form.ranks, form.ranks)) - np.eye(form.ranks)
    solution = search_by_latency(form, distance, time_limit_s=60)
    assert solution.cost == solution.lower_bound == 0.0
    assert solution.ended_by == "exact"


def test_clusters_keep_racks_together():
    made = datacenters.uniform(256, 1)
    order = order_by_clusters(made.distance, Deadline())
    assert sorted(order) == list(range(256))
    assert np.count_nonzero(np.diff(made.rack_of[order])) == 15
    assert np.count_nonzero(np.diff(made.row_of[order])) == 3


@given(distance_matrices(1, 12))
def test_clusters_hold_every_host_once(distance):
    assert sorted(order_by_clusters(distance, Deadline())) == list(range(len(distance)))


@pytest.mark.parametrize(
    ("form", "matrix", "order", "options"),
    [
        (RingForm(3), np.zeros((4, 4)), None, {}),
        (RoundsForm(3, []), np.zeros((4, 4)), None, {}),
        (RoundsForm(2, []), np.array([[0.0, 1.0], [2.0, 0.0]]), None, {}),
        (RoundsForm(2, []), np.array([[1.0, 1.0], [1.0, 0.0]]), None, {}),
        (RoundsForm(2, []), np.array([[0.0, -1.0], [-1.0, 0.0]]), None, {}),
        (RoundsForm(2, []), np.array([[0.0, np.nan], [np.nan, 0.0]]), None, {}),
        (RoundsForm(3, []), np.zeros((3, 3)), [0, 1, 1], {}),
        (RoundsForm(3, []), np.zeros((3, 3)), None, {"seed": -1}),
        (RoundsForm(3, []), np.zeros((3, 3)), None, {"time_limit_s": 0.0}),
        (RoundsForm(3, []), np.zeros((3, 3)), None, {"threads": 0}),
        (RoundsForm(3, []), np.zeros((3, 3)), None, {"steps": 0}),
    ],
)
def test_wrong_input_is_refused(form, matrix, order, options):
    with pytest.raises(ValueError, match=r"expected|symmetric|negative|permutation"):
        search_by_latency(form, matrix, order, **options)


@pytest.mark.parametrize("algorithm", ["tree", "halving-doubling"])
def test_distances_that_are_nearly_nothing_are_ordered_too(algorithm):
    form = find(algorithm).form(64)
    distance = 1e-320 * datacenters.uniform(64, 3).distance
    found = search_by_latency(form, distance, seed=1, steps=20_000, time_limit_s=30.0)
    assert sorted(found.order) == list(range(64))
    assert found.lower_bound <= found.cost == latency_cost(form, distance, found.order)
