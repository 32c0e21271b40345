"""PAIA: against the definition, triplet by triplet."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.solvers.groups.agreement import affinity, common_prefixes


def by_definition(distance, positions):
    """Luo 2020, §6.2.5, word by word."""

    def prefix(a, b):
        length = 0
        for one, other in zip(positions[a], positions[b], strict=False):
            if one != other:
                break
            length += 1
        return length

    right = triplets = 0
    hosts = range(len(positions))
    for c in hosts:
        for a, b in itertools.combinations([host for host in hosts if host != c], 2):
            if prefix(a, c) == prefix(b, c) or np.isnan([distance[c, a], distance[c, b]]).any():
                continue
            triplets += 1
            near, far = (a, b) if prefix(a, c) > prefix(b, c) else (b, a)
            right += bool(distance[c, near] < distance[c, far])
    return right, triplets


@given(st.data())
def test_any_matrix_scores_as_defined(data):
    size = data.draw(st.integers(1, 8))
    part = st.sampled_from("ab")
    positions = data.draw(
        st.lists(st.lists(part, min_size=0, max_size=3).map(tuple), min_size=size, max_size=size)
    )
    reading = st.sampled_from([1.0, 2.0, 3.0, np.nan])
    rows = data.draw(
        st.lists(st.lists(reading, min_size=size, max_size=size), min_size=size, max_size=size)
    )
    found = affinity(np.array(rows), positions)
    assert (found.right, found.triplets) == by_definition(np.array(rows), positions)


def test_true_distances_score_one_and_reversed_ones_zero():
    positions = [(host // 8, host // 4, host // 2, host) for host in range(16)]
    distance = 4.0 - common_prefixes(positions)
    assert affinity(distance, positions).accuracy == 1.0
    assert affinity(-distance, positions).accuracy == 0.0


def test_equal_readings_are_wrong():
    assert affinity(np.ones((3, 3)), [("r1",), ("r1",), ("r2",)]).accuracy == 0.0


def test_without_comparable_hosts_there_is_no_accuracy():
    assert np.isnan(affinity(np.ones((3, 3)), [("r1",), ("r1",), ("r1",)]).accuracy)


def test_shapes_must_fit():
    with pytest.raises(ValueError, match=r"\(3, 3\), expected \(2, 2\)"):
        affinity(np.ones((3, 3)), [("a",), ("b",)])
