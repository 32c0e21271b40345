"""Which pairs are measured again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drift.networks import racks_of, read, truth_us
from plink.measure.drift.judge import (
    average_both_ways_us,
    choose_pairs,
    find_near_hosts,
)
from plink.probes.rounds import build_disjoint_rounds

TIMES = average_both_ways_us(read(truth_us(racks_of(6, 4)), [1]).readings_us)


@given(partners=st.integers(1, 30), seed=st.integers(0, 1 << 31))
def test_every_host_has_its_nearest_and_other_partners(partners: int, seed: int) -> None:
    pairs = choose_pairs(TIMES, partners, seed)
    assert len(pairs) == len(set(pairs))
    assert all(a < b for a, b in pairs)
    met = [{a + b - host for a, b in pairs if host in (a, b)} for host in range(24)]
    near = min(3, (partners + 1) // 2)
    for host, others in enumerate(met):
        assert len(others) >= min(partners, 23)
        assert sum(other // 4 == host // 4 for other in others) >= near


def test_the_seed_decides_the_pairs() -> None:
    assert choose_pairs(TIMES, 8, 1) == choose_pairs(TIMES, 8, 1)
    assert choose_pairs(TIMES, 8, 1) != choose_pairs(TIMES, 8, 2)


def test_pairs_without_a_reading_are_left_alone() -> None:
    times = TIMES.copy()
    times[3, :] = times[:, 3] = np.nan
    pairs = choose_pairs(times, 6, 1)
    assert all(3 not in pair for pair in pairs)
    assert choose_pairs(np.full((4, 4), np.nan), 6, 1) == []


def test_more_partners_are_other_ones() -> None:
    before = choose_pairs(TIMES, 4, 1)
    more = choose_pairs(TIMES, 12, 1, hosts=[5], having=before)
    assert not set(more) & set(before)
    assert all(5 in pair for pair in more)
    assert sum(5 in pair for pair in before) + len(more) >= 12


def test_near_hosts_are_those_of_the_rack() -> None:
    racks = racks_of(6, 4)
    is_mate = (racks[:, None] == racks[None, :]) & ~np.eye(24, dtype=bool)
    np.testing.assert_array_equal(find_near_hosts(TIMES), is_mate)


def test_one_direction_stands_for_both() -> None:
    times = average_both_ways_us(
        np.array([[np.nan, 4.0, np.nan], [9.0, np.nan, 0.0], [5.0, 2.0, np.nan]])
    )
    assert times[0, 1] == times[1, 0] == pytest.approx(6.0)
    assert times[0, 2] == times[2, 0] == pytest.approx(5.0)
    assert times[1, 2] == times[2, 1] == pytest.approx(2.0)


@given(st.sets(st.tuples(st.integers(0, 15), st.integers(16, 31)), max_size=80))
def test_any_pairs_come_in_disjoint_rounds(pairs: set[tuple[int, int]]) -> None:
    rounds = build_disjoint_rounds(sorted(pairs))
    assert sorted(pair for met in rounds for pair in met) == sorted(pairs)
    for met in rounds:
        ends = [end for pair in met for end in pair]
        assert len(ends) == len(set(ends))
    most = max((sum(host in pair for pair in pairs) for host in range(32)), default=0)
    assert len(rounds) <= 2 * most
