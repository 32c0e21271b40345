"""The tree from which partitions are cut, what partitions cost, and how they are moved."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from plink.solvers.groups.partitions import Pairs, find_partition, move_units, price_partition
from plink.solvers.groups.rivals import cost_points


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
    known = np.zeros(5, dtype=np.int64)
    prices, weights = zip(
        *[price_partition(np.array(each), known) for each in partitions], strict=True
    )
    # Of each weight of a group the likelier partitions are its own, at half the probability.
    assert set(weights) == {0.5, 4.0}
    assert 0.5 < sum(np.exp(-price) for price in prices) < 1.0


def test_a_partition_is_found_again_after_hosts_were_exchanged() -> None:
    rack = np.repeat(np.arange(4), 6)
    pairs = Pairs(*far_apart(rack))
    wrong = rack.copy()
    wrong[[0, 6, 12]] = wrong[[6, 12, 0]]
    _, odds, weight = pairs.evaluate(wrong)
    assert move_units(odds, wrong, weight).tolist() == rack.tolist()
    cost, labels = find_partition(pairs)
    assert cost == pytest.approx(pairs.evaluate(rack)[0])
    np.testing.assert_array_equal(
        labels[:, None] == labels[None, :], rack[:, None] == rack[None, :]
    )


@pytest.mark.parametrize("readings", ["none", "between groups alone"])
def test_points_explain_what_says_nothing_of_groups(readings: str) -> None:
    rack = np.repeat(np.arange(2), 8)
    logs, is_measured = far_apart(rack)
    if readings == "none":
        assert cost_points(logs, np.zeros_like(is_measured), rack) == np.inf
    else:
        assert np.isfinite(cost_points(logs, rack[:, None] != rack[None, :], rack))
