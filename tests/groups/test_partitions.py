"""The tree from which partitions are cut, what partitions cost, and how they are moved."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from plink.solvers.groups.classes import Classes, price_partition
from plink.solvers.groups.pairs import Pairs
from plink.solvers.groups.partitions import find_partition


def far_apart(rack, within=0.0, between=0.5, noise=0.02, seed=1):
    logs = np.where(rack[:, None] == rack[None, :], within, between)
    logs = logs + np.abs(np.random.default_rng(seed).normal(0.0, noise, logs.shape))
    return np.triu(logs, 1) + np.triu(logs, 1).T, ~np.eye(len(rack), dtype=bool)


def test_groups_that_never_met_are_as_far_as_the_nearest_third_puts_them() -> None:
    units = np.repeat(np.arange(3), 2)
    logs = np.where(units[:, None] == units[None, :], 1.0, 2.0)
    logs[:2, 2:4] = logs[2:4, :2] = 3.0
    is_measured = units[:, None] != units[None, :]
    is_measured[:2, 4:] = is_measured[4:, :2] = False
    logs[~is_measured] = 0.0
    # The least distance of two groups, 2, is taken off.
    expected = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(Pairs(logs, is_measured, units).fill_distances(), expected)


def test_prices_of_all_partitions_are_those_of_probabilities() -> None:
    # Each partition of five hosts once: labels in the order in which they first appear.
    partitions = [
        labels
        for labels in product(range(5), repeat=5)
        if all(label <= max(labels[:host], default=-1) + 1 for host, label in enumerate(labels))
    ]
    assert len(partitions) == 52
    prices, weights = zip(*[price_partition(np.array(each)) for each in partitions], strict=True)
    # Of each weight of a group the likelier partitions are its own, at half the probability.
    assert set(weights) == {0.5, 4.0}
    assert 0.5 < sum(np.exp(-price) for price in prices) < 1.0


def test_noise_is_as_cheap_in_one_class_as_in_two_drawn_at_random() -> None:
    rng = np.random.default_rng(2)
    classes = Classes(rng.normal(0.0, 0.1, 100_000))
    half = rng.multivariate_hypergeometric(classes.all.astype(np.int64), 50_000)
    two = classes.cost_splits(half[None].astype(np.float64))[0]
    assert two > classes.one_class_cost - 2.0


def test_a_partition_is_found_again_after_hosts_were_exchanged() -> None:
    rack = np.repeat(np.arange(4), 6)
    pairs = Pairs(*far_apart(rack))
    wrong = rack.copy()
    wrong[[0, 6, 12]] = wrong[[6, 12, 0]]
    cost, labels = find_partition(pairs, wrong)
    assert cost == pytest.approx(pairs.evaluate(rack)[0])
    assert labels.tolist() == rack.tolist()
