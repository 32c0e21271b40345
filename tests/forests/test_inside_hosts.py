"""Several ranks a host: a third level, and heads that take turns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forests.instances import forest_of
from plink.plans.check import check
from plink.plans.measures import measure
from plink.solvers.forests.kinds import flat, ring, two_level
from plink.solvers.forests.trees import expand_to_ranks, partition


def test_two_hosts_of_two_ranks_literally():
    found = expand_to_ranks(flat(np.ones(2)), [0, 0, 1, 1])
    assert found.weights.tolist() == [0.25] * 4
    # Both hosts' first ranks stand for them, then both second ones.
    assert found.reduce_parents.tolist() == [
        [-1, 0, 0, 2],
        [1, -1, 3, 1],
        [2, 0, -1, 2],
        [1, 3, 3, -1],
    ]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.data())
def test_hosts_send_once_whatever_ranks_they_hold(slots, data):
    host_of = np.repeat(np.arange(len(slots)), slots)
    groups = data.draw(st.lists(st.integers(0, 1), min_size=len(slots), max_size=len(slots)))
    group_of = np.unique(groups, return_inverse=True)[1]
    over_hosts = two_level(group_of, np.ones(len(slots)), np.ones(group_of.max() + 1))
    found = forest_of(expand_to_ranks(over_hosts, host_of))
    check(found)
    before = measure(forest_of(over_hosts), 1.0, group_of=group_of.tolist())
    after = measure(found, 1.0, group_of=group_of[host_of].tolist(), host_of=host_of.tolist())
    assert after.wire_bytes == pytest.approx(before.wire_bytes)
    assert after.cross_group_bytes == pytest.approx(before.cross_group_bytes)
    assert after.rounds <= before.rounds + 2
    assert after.sent_bytes.sum() == pytest.approx(2.0 * (len(host_of) - 1))


def test_equal_hosts_keep_all_their_ranks_as_busy():
    host_of = np.repeat(np.arange(8), 4)
    over_hosts = two_level(np.repeat([0, 1], 4), np.ones(8), np.ones(2))
    found = measure(forest_of(expand_to_ranks(over_hosts, host_of)), 1.0)
    assert found.balance == pytest.approx(1.0)


def test_ranks_may_stand_anywhere():
    check(forest_of(expand_to_ranks(ring([1, 0, 2]), [2, 0, 1, 0, 2])))


def least_load(work, workers):
    """The least load of the busiest worker, over all ways to deal the work."""
    return min(
        max(
            sum(piece for piece, of in zip(work, deal, strict=True) if of == worker)
            for worker in range(workers)
        )
        for deal in itertools.product(range(workers), repeat=len(work))
    )


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 3))
def test_the_largest_first_is_within_four_thirds_of_the_best(work, workers):
    found = partition(work, workers)
    assert len(found) == len(work)
    loads = [
        sum(piece for piece, of in zip(work, found, strict=True) if of == worker)
        for worker in range(workers)
    ]
    assert max(loads) <= (4 / 3 - 1 / (3 * workers)) * least_load(work, workers) + 1e-9


def test_the_worst_case_of_largest_first():
    # Graham's own: 11 where 9 is best.
    found = partition([5, 5, 4, 4, 3, 3, 3], 3)
    assert (
        max(
            sum(w for w, of in zip([5, 5, 4, 4, 3, 3, 3], found, strict=True) if of == k)
            for k in range(3)
        )
        == 11
    )
