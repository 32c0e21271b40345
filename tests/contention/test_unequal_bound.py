"""Bounds under contention for hosts that take different numbers of ranks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention.instances import halving_doubling_table, networks, racks_network, ring_table, tables
from plink.solvers.contention.bound import unequal_bound_s
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline
from plink.solvers.slots.layout import RankLayout


def least_s(table, network, slots):
    """The least time of any order."""
    layout = RankLayout(slots, table.ranks)
    clock = TableTimer(table, network)
    orders = itertools.permutations(range(network.hosts))
    return min(clock.time_s(layout.placement(order)) for order in orders)


@given(st.data(), st.integers(1, 5))
def test_no_order_takes_less_than_the_bound(data, hosts):
    slots = data.draw(st.lists(st.integers(1, 3), min_size=hosts, max_size=hosts), label="slots")
    most = sum(slots)
    ranks = data.draw(st.sampled_from([most, most, max(1, most - 1), max(1, most - 3)]))
    table = data.draw(tables(ranks), label="table")
    network = data.draw(networks(hosts), label="network")
    bound_s = unequal_bound_s(table, network, slots, Deadline(1.0))
    assert 0.0 <= bound_s <= least_s(table, network, slots) * (1 + 1e-9)


@pytest.mark.parametrize("slots", [[1, 2, 3], [2, 1, 1, 4], [3, 3, 2, 1, 1]])
def test_a_ring_through_hosts_with_links_alike_is_bounded_closely(slots):
    network = racks_network(1, len(slots))
    table = ring_table(sum(slots), 1e6)
    bound_s = unequal_bound_s(table, network, slots, Deadline(1.0))
    assert 0.8 * least_s(table, network, slots) <= bound_s


def test_halving_and_doubling_over_racks_has_a_bound():
    slots = [1, 3, 2, 2]
    network = racks_network(2, 2)
    table = halving_doubling_table(8, 1e6)
    bound_s = unequal_bound_s(table, network, slots, Deadline(1.0))
    assert 0.3 * least_s(table, network, slots) <= bound_s


def test_without_time_there_still_is_a_number():
    table = halving_doubling_table(8, 1e6)
    bound_s = unequal_bound_s(table, racks_network(2, 2), [1, 3, 2, 2], Deadline(0.0))
    assert bound_s >= 0.0


def test_more_slots_than_a_matrix_holds_leave_the_hosts_own_links():
    slots = [600, 500, 100]
    bound_s = unequal_bound_s(ring_table(1200, 1e9), racks_network(1, 3), slots, Deadline(5.0))
    assert np.isfinite(bound_s)
    assert bound_s > 0.0
