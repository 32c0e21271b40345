"""Shares of masters: as good as a linear programme says they can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from plink.solvers.forests.kinds import master_shares

# Far enough apart not to be taken for equal.
RATES = st.sampled_from([1.0, 1.5, 4.0, 10.0])


def least_time(group_of: np.ndarray, links: np.ndarray, uplinks: np.ndarray) -> float:
    """The least time of the busiest link over all shares x (of GMs) and m (of masters)."""
    hosts, groups = len(group_of), len(uplinks)
    sizes = np.bincount(group_of)
    is_in = group_of[None, :] == np.arange(groups)[:, None]
    above, at_most = [], []
    for host in range(hosts):
        row = np.zeros(2 * hosts + 1)
        row[host] = groups - 2
        row[hosts + host] = sizes[group_of[host]] - 1
        row[-1] = -links[host]
        above.append(row)
        at_most.append(-1.0)
        row = np.zeros(2 * hosts + 1)
        row[host], row[hosts + host] = 1.0, -1.0
        above.append(row)
        at_most.append(0.0)
    if groups > 1:
        for group in np.flatnonzero(np.isfinite(uplinks)):
            row = np.zeros(2 * hosts + 1)
            row[:hosts] = is_in[group] * (groups - 2.0)
            row[-1] = -uplinks[group]
            above.append(row)
            at_most.append(-1.0)
    equal = [np.append(np.append(np.zeros(hosts), is_in[group]), 0.0) for group in range(groups)]
    equal.append(np.append(np.ones(hosts), np.zeros(hosts + 1)))
    goal = np.append(np.zeros(2 * hosts), 1.0)
    found = linprog(
        goal, A_ub=above, b_ub=at_most, A_eq=equal, b_eq=np.ones(groups + 1), method="highs"
    )
    assert found.success
    return float(found.x[-1])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.data())
def test_the_busiest_link_ends_as_early_as_a_linear_programme_says(sizes, data):
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    links = np.array(data.draw(st.lists(RATES, min_size=sum(sizes), max_size=sum(sizes))))
    rate = RATES | st.just(np.inf)
    uplinks = np.array(data.draw(st.lists(rate, min_size=len(sizes), max_size=len(sizes))))
    found = master_shares(group_of, links, uplinks)
    assert found.share_by_group.sum() == pytest.approx(1.0)
    assert np.bincount(group_of, found.share_by_member) == pytest.approx(1.0)
    assert (found.share_by_group >= 0.0).all()
    assert (found.share_by_member >= 0.0).all()
    assert found.seconds_per_byte == pytest.approx(
        least_time(group_of, links, uplinks), rel=1e-7, abs=1e-9
    )


def test_equal_hosts_get_equal_shares():
    found = master_shares(np.repeat(np.arange(4), 4), np.full(16, 50e6), np.full(4, 25e6))
    assert found.share_by_group == pytest.approx(0.25)
    assert found.share_by_member == pytest.approx(0.25)
    assert found.seconds_per_byte == pytest.approx(1.5 / 25e6)


def test_small_racks_hold_more_gms_so_that_all_links_end_together():
    sizes = [4, 4, 2, 1]
    found = master_shares(np.repeat(np.arange(4), sizes), np.ones(11), np.ones(4))
    assert found.seconds_per_byte == pytest.approx(2 * (1 - 1 / 11))
    assert found.share_by_group == pytest.approx(np.array([3, 3, 7, 9]) / 22)


def test_readings_of_equal_links_are_taken_for_equal():
    noisy = 50e6 * np.array([1.0, 0.98, 1.02, 0.99, 1.01, 1.0, 0.99, 1.0])
    found = master_shares(np.repeat([0, 1, 2, 3], 2), noisy, np.full(4, np.inf))
    assert found.share_by_group == pytest.approx(0.25)
    assert found.share_by_member == pytest.approx(0.5)


def test_a_slow_host_is_master_of_nothing_where_its_link_has_no_room():
    links = np.array([0.1, 1.0, 1.0, 1.0, 1.0, 1.0])
    found = master_shares(np.repeat([0, 1], 3), links, np.full(2, np.inf))
    assert found.share_by_member[0] == 0.0
    assert found.seconds_per_byte == pytest.approx(10.0)


def test_an_unlimited_link_has_all_the_room():
    found = master_shares(np.zeros(3, dtype=int), np.array([1.0, np.inf, 1.0]), np.array([np.inf]))
    assert found.share_by_member[1] == pytest.approx(1.0, abs=1e-5)
