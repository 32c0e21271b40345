"""The parts that choose pairs, each alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.solvers.sampling.fragments import (
    find_mode_limits,
    kinship,
    link_hosts,
    value_by_third_hosts,
)
from plink.solvers.sampling.sampler import match_pairs


def symmetric(values: np.ndarray) -> np.ndarray:
    above = np.triu(values, 1)
    return above + above.T


def heaviest(weight: np.ndarray, hosts: tuple[int, ...]) -> float:
    if len(hosts) < 2:
        return 0.0
    first, *rest = hosts
    without = heaviest(weight, tuple(rest))
    return max(
        [without]
        + [
            weight[first, other] + heaviest(weight, tuple(set(rest) - {other}))
            for other in rest
            if np.isfinite(weight[first, other])
        ]
    )


@given(size=st.integers(2, 7), seed=st.integers(0, 999))
def test_matching_is_maximal_and_at_least_half_of_the_heaviest(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = symmetric(np.where(rng.random((size, size)) < 0.3, -np.inf, rng.random((size, size))))
    np.fill_diagonal(weight, -np.inf)
    pairs = match_pairs(weight)
    hosts = [host for pair in pairs for host in pair]
    assert len(hosts) == len(set(hosts))
    left = set(range(size)) - set(hosts)
    assert all(weight[pair] == -np.inf for pair in itertools.combinations(left, 2))
    assert sum(weight[pair] for pair in pairs) >= 0.5 * heaviest(weight, tuple(range(size)))


def test_matching_takes_one_pair_of_two_clusters_and_many_within_one() -> None:
    weight = symmetric(np.random.default_rng(0).random((8, 8)) + 1.0)
    np.fill_diagonal(weight, -np.inf)
    labels = np.repeat([0, 1], 4)
    within = labels[:, None] == labels
    assert len(match_pairs(np.where(within, -np.inf, weight), labels)) == 1
    assert len(match_pairs(np.where(within, -np.inf, weight))) == 4
    assert len(match_pairs(np.where(within, weight, -np.inf), labels)) == 4


@given(size=st.integers(1, 30), seed=st.integers(0, 999), share=st.floats(0.05, 1.0))
def test_no_two_clusters_are_left_that_votes_would_join(size: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    is_read = symmetric((rng.random((size, size)) < share).astype(float)) > 0
    votes = np.where(is_read, symmetric(rng.uniform(-1, 1, (size, size))), 0.0)
    labels = link_hosts(votes, is_read.astype(float))
    member = np.eye(labels.max() + 1)[labels]
    between = member.T @ votes @ member
    np.fill_diagonal(between, 0.0)
    assert (between <= 1e-9).all()
    # Nothing is joined without a vote for it.
    within = np.diag(member.T @ votes @ member)
    assert (within[member.sum(axis=0) > 1] > 0.0).all()


def test_planted_clusters_are_joined_despite_a_wrong_vote() -> None:
    truth = np.repeat([0, 1, 2], 5)
    votes = np.where(truth[:, None] == truth, 1.0, -0.75)
    votes[0, 7] = votes[7, 0] = 1.0
    votes[1, 2] = votes[2, 1] = -0.75
    assert link_hosts(votes, np.ones((15, 15))).tolist() == truth.tolist()


def test_third_ones_tell_a_row_from_another() -> None:
    # Clusters 0 and 1 are near to 3, and 2 is far from it; all are far from 4 to 8.
    logs = np.full((9, 9), np.nan)
    for one, third, value in [(0, 3, 3.5), (1, 3, 3.5), (2, 3, 4.0)]:
        logs[one, third] = logs[third, one] = value
    for one, third in itertools.product(range(3), range(4, 9)):
        logs[one, third] = logs[third, one] = 4.0
    ratio = kinship(logs, 0.05, 4.0)
    assert (ratio == ratio.T).all()
    assert ratio[0, 1] > 1.0
    assert ratio[0, 2] < -1.0
    assert ratio[1, 2] < -1.0


def test_without_a_common_third_nothing_is_said() -> None:
    logs = np.full((4, 4), np.nan)
    logs[0, 1] = logs[1, 0] = 3.0
    logs[2, 3] = logs[3, 2] = 3.0
    assert (kinship(logs, 0.1, 3.0) == 0.0).all()


def test_a_late_reading_says_no_more_than_a_far_one() -> None:
    logs = np.full((4, 4), np.nan)
    for one, value in ((0, 4.0), (1, 5.5)):
        logs[one, 3] = logs[3, one] = value
    assert kinship(logs, 0.05, 4.0)[0, 1] >= 0.0


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_two_modes_are_told_apart_between_them(share: float) -> None:
    rng = np.random.default_rng(5)
    is_near = rng.random(2000) < share
    readings = np.where(is_near, 20.6 + rng.exponential(3.6, 2000), 33.5 + rng.exponential(5, 2000))
    found = find_mode_limits(np.log(readings))
    assert found
    assert 27.0 < np.exp(found[0]) < 34.0


@pytest.mark.parametrize("size", [1, 2, 100, 320, 3000])
def test_one_mode_is_not_cut(size: int) -> None:
    for seed in range(40):
        rng = np.random.default_rng([1000, seed])
        readings = 20.0 * (1.0 + rng.exponential(0.17, size))
        readings *= np.where(rng.random(size) < 0.02, rng.uniform(1.3, 3.0, size), 1.0)
        assert find_mode_limits(np.log(readings)) == []
        assert find_mode_limits(rng.normal(3.0, 0.2, size)) == []


def test_hosts_near_to_one_are_worth_a_meeting() -> None:
    readings = np.full((6, 6), np.nan)
    for one, other, rtt_us in [(0, 1, 20.0), (1, 2, 21.0), (3, 4, 50.0), (4, 5, 20.0)]:
        readings[one, other] = readings[other, one] = rtt_us
    worth = value_by_third_hosts(readings)
    assert (worth == worth.T).all()
    assert worth[0, 2] > worth[3, 5] > 0.0
    assert worth[0, 4] == 0.0
