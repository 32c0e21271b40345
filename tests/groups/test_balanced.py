"""Balanced groups: constrained k-means, balanced linkage, balanced random, and their agreement."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchkit.datacenters import uniform
from plink.solvers.embedding.embed import embed
from plink.solvers.groups.agreement import adjusted_mutual_information
from plink.solvers.groups.balanced import _assign_points as assign_points
from plink.solvers.groups.balanced import (
    balanced_linkage,
    compute_least_size,
    constrained_kmeans,
)
from plink.solvers.groups.grouping import choose_group_count


def between(points):
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.data())
def test_sizes_keep_to_the_elasticity(hosts, data):
    groups = data.draw(st.integers(1, hosts))
    elasticity = data.draw(st.sampled_from([1.0, 1.3, 2.0]))
    points = np.random.default_rng(data.draw(st.integers(0, 99))).random((hosts, 2))
    for labels in (
        constrained_kmeans(points, groups, elasticity=elasticity, runs=2),
        balanced_linkage(between(points), groups, elasticity=elasticity),
    ):
        sizes = np.bincount(labels, minlength=groups)
        assert len(sizes) == groups
        assert sizes.min() >= compute_least_size(hosts, groups, elasticity)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(1, 3), st.integers(0, 999))
def test_the_assignment_is_the_cheapest_that_the_minimum_size_allows(hosts, groups, seed):
    groups = min(groups, hosts)
    smallest = hosts // groups
    squared = np.random.default_rng(seed).random((hosts, groups))
    costs = [
        squared[np.arange(hosts), list(labels)].sum()
        for labels in itertools.product(range(groups), repeat=hosts)
        if np.bincount(labels, minlength=groups).min() >= smallest
    ]
    found = assign_points(squared, smallest)
    assert np.bincount(found, minlength=groups).min() >= smallest
    assert squared[np.arange(hosts), found].sum() == pytest.approx(min(costs))


def test_true_racks_are_found_by_both():
    centre = uniform(128, 3)
    points = embed(centre.distance).points
    racks = centre.rack_of.tolist()
    for labels in (
        constrained_kmeans(points, 8, elasticity=1.0),
        balanced_linkage(centre.distance, 8, elasticity=1.0),
    ):
        assert adjusted_mutual_information(labels.tolist(), racks) == 1.0


def test_more_runs_never_give_sizes_that_differ_more():
    points = np.random.default_rng(4).random((60, 2))
    spreads = [
        np.bincount(constrained_kmeans(points, 6, elasticity=2.0, runs=runs)).std()
        for runs in (1, 3, 9)
    ]
    assert spreads == sorted(spreads, reverse=True)


def test_points_on_top_of_each_other_can_be_grouped():
    labels = constrained_kmeans(np.zeros((12, 2)), 3, elasticity=1.0)
    assert sorted(np.bincount(labels)) == [4, 4, 4]


@pytest.mark.parametrize("elasticity", [1.5, 2.0])
def test_near_hosts_do_not_change_places_for_ever(elasticity):
    labels = np.repeat([0, 1, 2, 3], [4, 3, 2, 1])
    distance = np.where(labels[:, None] == labels, 20.0, 50.0)
    np.fill_diagonal(distance, 0.0)
    found = balanced_linkage(distance, 2, elasticity=elasticity)
    # The two that are near stay together, beside the one that is alone.
    assert found.tolist() == [0] * 7 + [1] * 3


def test_the_usual_number_of_groups_is_the_root():
    assert [choose_group_count(hosts) for hosts in (1, 2, 16, 64, 100, 512)] == [1, 1, 4, 8, 10, 23]


@pytest.mark.parametrize(("groups", "elasticity"), [(0, 1.0), (6, 1.0), (2, 0.9), (2, 2.1)])
def test_wrong_wishes_are_refused(groups, elasticity):
    with pytest.raises(ValueError, match=r"expected 1 to"):
        constrained_kmeans(np.zeros((5, 2)), groups, elasticity=elasticity)
    with pytest.raises(ValueError, match=r"expected 1 to"):
        balanced_linkage(np.zeros((5, 5)), groups, elasticity=elasticity)


def by_permutations(first, second):
    """Adjusted mutual information with the expectation over every permutation."""

    def information(a, b):
        total = 0.0
        for i, j in itertools.product(set(a), set(b)):
            shared = np.mean([x == i and y == j for x, y in zip(a, b, strict=True)])
            if shared:
                total += shared * np.log(
                    shared / (np.mean(np.array(a) == i) * np.mean(np.array(b) == j))
                )
        return total

    orders = list(itertools.permutations(second))
    expected = np.mean([information(first, order) for order in orders])
    mean = (information(first, first) + information(second, second)) / 2.0
    return (information(first, second) - expected) / (mean - expected)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2]),
        ([0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]),
        ([0, 0, 1, 1, 2, 3], [5, 5, 5, 4, 4, 4]),
    ],
)
def test_agreement_is_adjusted_by_the_mean_over_permutations(first, second):
    found = adjusted_mutual_information(first, second)
    assert found == pytest.approx(by_permutations(first, second))
    assert found == pytest.approx(adjusted_mutual_information(second, first))


def test_agreement_knows_no_names():
    assert adjusted_mutual_information([0, 0, 1, 2], ["x", "x", "y", "z"]) == pytest.approx(1.0)
    assert adjusted_mutual_information([0, 0, 0], [1, 1, 1]) == 1.0
    with pytest.raises(ValueError, match="groupings"):
        adjusted_mutual_information([0], [0, 1])
