"""What speaks for groups, beside its rivals; coverage of pairs; who belongs where."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.solvers.groups.certainty import compared_share, host_probabilities
from plink.solvers.groups.dendrogram import by_average_linkage, by_profile
from plink.solvers.groups.evidence import EQUAL, LATENCIES, SPACE
from plink.solvers.groups.grouping import ALONE
from plink.solvers.groups.levels import LIKELY, cost, discover, primary
from plink.solvers.groups.structure import best_structure, misfit


def symmetric(matrix):
    upper = np.triu(matrix, 1)
    return upper + upper.T


def racks(sizes, far=1.5, noise=0.02, seed=1):
    rng = np.random.default_rng(seed)
    rack = np.repeat(np.arange(len(sizes)), sizes)
    true = np.where(rack[:, None] == rack[None, :], 20.0, 20.0 * far)
    return symmetric(true * rng.lognormal(0.0, noise, true.shape)), rack


def between(size):
    return ~np.eye(size, dtype=bool)


def described(distance, groups):
    """The cost of flat groups of at least two hosts, straight from its definition."""
    size = len(distance)
    logs = np.log(distance + np.eye(size))
    above = np.triu_indices(size, 1)
    label = np.full(size, -1)
    for number, group in enumerate(groups):
        label[list(group)] = number
    classes = np.where(label[above[0]] == label[above[1]], label[above[0]], -1)
    values = logs[above]
    squares = sum(
        ((values[classes == each] - values[classes == each].mean()) ** 2).sum()
        for each in np.unique(classes)
    )
    from math import comb, log

    price = sum(log(comb(size, len(group))) + log(len(values)) / 2 for group in groups)
    return float(misfit(float(squares), float(len(values)))) + price


@pytest.mark.parametrize("sizes", [[2, 3], [3, 3], [2, 2, 2], [1, 2, 3], [4, 2]])
def test_the_structure_is_no_dearer_than_any_flat_groups(sizes):
    distance, _ = racks(sizes, noise=0.03)
    size = len(distance)
    logs = np.where(between(size), np.log(distance + np.eye(size)), 0.0)
    apart = logs - logs[between(size)].min()
    np.fill_diagonal(apart, 0.0)
    found = best_structure(by_average_linkage(apart, logs, between(size)))
    hosts = range(size)
    subsets = [
        set(some) for count in range(2, size) for some in itertools.combinations(hosts, count)
    ]
    flat = [[], *([one] for one in subsets)]
    flat += [[a, b] for a, b in itertools.combinations(subsets, 2) if not a & b]
    flat += [
        [a, b, c] for a, b, c in itertools.combinations(subsets, 3) if not (a & b or a & c or b & c)
    ]
    # Groups that are farther apart than their surroundings are no groups.
    assert found.cost <= min(described(distance, groups) for groups in flat) + 1e-6


@given(st.integers(4, 24), st.integers(0, 1 << 30))
@settings(max_examples=30, deadline=None)
def test_a_structure_costs_what_its_sums_say(size, seed):
    rng = np.random.default_rng(seed)
    logs = symmetric(rng.normal(3.0, 0.4, (size, size)))
    measured = symmetric(rng.random((size, size)) < 0.8).astype(bool)
    apart = logs - logs[between(size)].min() + 0.1
    np.fill_diagonal(apart, 0.0)
    for distances in (apart, by_profile(apart)):
        found = best_structure(by_average_linkage(distances, logs, measured))
        inner = np.full((size, size), -1)
        for place, node in enumerate(found.nodes):
            hosts = found.tree.hosts_below(node)
            inner[np.ix_(hosts, hosts)] = place
        above = np.triu(measured, 1)
        means = np.array(
            [logs[above & (inner == place)].mean() for place in range(len(found.nodes))]
        )
        assert np.allclose(means, found.log_mean)
        squares = sum(
            ((logs[above & (inner == place)] - mean) ** 2).sum() for place, mean in enumerate(means)
        )
        expected = np.sqrt(squares / above.sum())
        assert found.deviation == pytest.approx(expected, abs=1e-6)
        assert (found.cost_without[1:] >= found.cost - 1e-9).all()


def test_rivals_are_named():
    rng = np.random.default_rng(1)
    equal = symmetric(rng.lognormal(3.0, 0.02, (12, 12)))
    assert discover(equal).rival == EQUAL
    latency = rng.uniform(5.0, 30.0, 16)
    assert discover(symmetric(latency[:, None] + latency[None, :])).rival == LATENCIES
    points = rng.random((24, 2))
    spread = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    found = discover(symmetric(spread))
    assert (found.rival, found.levels) == (SPACE, ())


def test_noise_that_passes_show_makes_less_sure():
    distance, _ = racks([3, 3, 3], far=1.12, noise=0.01)
    chances = [discover(distance, noise=noise).probability for noise in (0.0, 0.05, 0.2)]
    assert chances[0] > 0.99
    assert chances == sorted(chances, reverse=True)
    assert chances[2] < LIKELY


def test_half_a_rack_that_never_met_the_other_half_is_told():
    distance, rack = racks([6, 6])
    halves = np.arange(12) % 2
    measured = between(12) & (
        (rack[:, None] != rack[None, :]) | (halves[:, None] == halves[None, :])
    )
    labels = 2 * rack + halves
    logs = np.log(distance + np.eye(12))
    assert compared_share(logs, measured, labels, 0.02) == pytest.approx(4 / 6)
    assert compared_share(logs, measured, rack, 0.02) == 1.0
    assert compared_share(logs, between(12), labels, 0.02) == 1.0


def test_groups_that_a_third_one_tells_apart_are_compared():
    # The first two never met, but the third is near to one and far from the other.
    rack = np.repeat([0, 1, 2], 3)
    table = np.log(np.array([[20.0, 50.0, 30.0], [50.0, 20.0, 50.0], [30.0, 50.0, 20.0]]))
    logs = table[rack[:, None], rack[None, :]]
    measured = between(9) & ~((rack[:, None] + rack[None, :] == 1) & (rack[:, None] != rack[None]))
    assert compared_share(logs, measured, rack, 0.02) == 1.0


def test_a_host_in_the_wrong_group_is_doubtful_and_others_are_not():
    distance, rack = racks([6, 6, 6])
    logs = np.where(between(18), np.log(distance + np.eye(18)), 0.0)
    right = host_probabilities(logs, between(18), rack, 0.02)
    assert right.min() > 0.9
    wrong = rack.copy()
    wrong[0] = 1
    found = host_probabilities(logs, between(18), wrong, 0.05)
    assert found[0] < 0.01
    assert found.argmin() == 0
    assert found[12:].min() > 0.9
    alone = rack.copy()
    alone[0] = ALONE
    assert host_probabilities(logs, between(18), alone, 0.02)[0] < 0.1


@pytest.mark.parametrize(
    ("sizes", "value"), [([4, 4], 6), ([6, 1, 1], 9), ([1, 1], 3), ([2] * 8, 10)]
)
def test_the_cost_of_a_level_sees_sizes(sizes, value):
    labels = np.concatenate(
        [
            np.full(size, number if size > 1 else ALONE)
            for number, size in enumerate(sorted(sizes, reverse=True))
        ]
    )
    assert cost(labels) == value


def test_rows_of_racks_are_listed_and_racks_are_taken():
    rack = np.repeat(np.arange(8), 4)
    row = rack // 4
    far = np.where(
        rack[:, None] == rack[None, :],
        20.0,
        np.where(row[:, None] == row[None, :], 30.0, 45.0),
    )
    distance = symmetric(far * np.random.default_rng(1).lognormal(0.0, 0.02, far.shape))
    levels = discover(distance).levels
    assert [level.groups for level in levels] == [2, 8]
    assert primary(levels).labels.tolist() == rack.tolist()
