"""Bounds of trees that are raised limit by limit."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forms
from benchkit import ring_instances
from order_strategies import trees_forms
from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.bounds.tree_budgets import budget_bound
from plink.solvers.bounds.trees import trees_bound
from plink.solvers.collectives.registry import find
from plink.solvers.limits.deadline import Deadline
from plink.solvers.orders.brute_force import costs_of
from plink.solvers.slots.layout import padded
from ring_strategies import distance_matrices

EVERY = {size: np.array(list(itertools.permutations(range(size)))) for size in range(2, 8)}


def is_below(bound, form, distance, orders):
    return bound <= costs_of(form, distance, orders).min() * (1 + 1e-12)


@settings(max_examples=40)
@given(distance_matrices(2, 7), st.data())
def test_no_tree_of_any_shape_costs_less(distance, data):
    form = data.draw(trees_forms(len(distance)))
    bound = budget_bound(form, distance, 0.0, Deadline(0.05))
    assert bound >= 0.0
    assert is_below(bound, form, distance, EVERY[len(distance)])


@settings(max_examples=20)
@given(distance_matrices(4, 7), st.integers(2, 4), st.data())
def test_no_tree_of_some_of_the_hosts_costs_less(distance, ranks, data):
    form = padded(data.draw(trees_forms(ranks)), len(distance))
    bound = budget_bound(form, distance, 0.0, Deadline(0.05))
    assert is_below(bound, form, distance, EVERY[len(distance)])


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from(["racks", "half", "line"]))
def test_no_double_tree_of_racks_or_of_half_of_the_pairs_costs_less(seed, kind):
    rng = np.random.default_rng(seed)
    if kind == "line":
        points = rng.uniform(0.0, 100.0, 7)
        distance = np.abs(points[:, None] - points)
    else:
        distance, _ = ring_instances.racks([4, 3], seed=seed, near=1.0, far=100.0)
        if kind == "half":
            hidden = np.triu(rng.random(distance.shape) < 0.5, 1)
            distance = np.where(hidden | hidden.T, 0.0, distance)
    form = find("tree").form(7)
    bound = budget_bound(form, np.ascontiguousarray(distance), 0.0, Deadline(0.2))
    assert is_below(bound, form, distance, EVERY[7])


def test_a_host_far_from_all_others_is_paid_for():
    rng = np.random.default_rng(5)
    distance = np.triu(rng.uniform(9.0, 11.0, (31, 31)), 1)
    distance[0, 1:] += 500.0
    distance += distance.T
    form = forms.form_of("single tree", 31)
    assert trees_bound(form, distance, Deadline(0.5)) < 400.0
    assert lower_bound(form, distance, 0.5).value >= 509.0


def test_racks_that_one_hop_between_them_does_not_reach_are_paid_for_with_two():
    distance, _ = ring_instances.racks([2] * 15, seed=3, near=1.0, far=100.0)
    form = forms.form_of("single tree", 30)
    before = trees_bound(form, distance, Deadline(0.5))
    bound = budget_bound(form, distance, before, Deadline(3.0))
    assert bound >= max(before, 200.0)


@pytest.mark.parametrize("seconds", [0.0, 1e-4])
def test_without_time_what_is_known_remains(seconds):
    distance, _ = ring_instances.racks([8, 8], seed=3, near=1.0, far=100.0)
    form = forms.form_of("single tree", 16)
    assert budget_bound(form, distance, 7.0, Deadline(seconds)) >= 7.0


@pytest.mark.parametrize("hosts", [256, 512, 2048])
def test_the_deadline_is_kept_with_many_hosts(hosts):
    distance = np.abs(np.subtract.outer(*(2 * [np.linspace(0.0, 100.0, hosts)])))
    form = find("tree").form(hosts)
    begin_s = time.process_time()
    assert lower_bound(form, distance, 0.3).value > 0.0
    assert time.process_time() - begin_s < 0.6


def test_remote_hosts_of_a_double_tree_are_paid_for_twice():
    # Two may be the roots, and one rank is a leaf in both trees; the fourth is below another host.
    distance = np.full((31, 31), 1.0)
    distance[:4] = distance[:, :4] = 500.0
    np.fill_diagonal(distance, 0.0)
    assert lower_bound(find("tree").form(31), distance, 1.0).value >= 999.0
