"""What the time of a table is spent on: its parts sum up to it, and the slowest links are named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention import reference
from contention.instances import networks, racks_network, ring_table, tables
from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.contention.limiting import HOSTS, UPLINKS, find_limits_of_time
from plink.solvers.contention.network import make_network
from plink.solvers.contention.time import TableTimer


@given(st.data(), st.integers(1, 6))
def test_what_is_waited_for_sums_up_to_the_time(data, ranks):
    table = data.draw(tables(ranks), label="table")
    hosts = data.draw(st.integers(1, 6), label="hosts")
    network = data.draw(networks(hosts), label="network")
    order = data.draw(st.lists(st.integers(0, hosts - 1), min_size=ranks, max_size=ranks))
    found = find_limits_of_time(table, network, order)
    assert [each.seconds for each in found] == sorted((e.seconds for e in found), reverse=True)
    plain_s = reference.time_s(table, network, order)
    assert sum(each.seconds for each in found) == pytest.approx(plain_s, rel=1e-9, abs=1e-12)


def test_what_comes_back_to_another_rank_is_no_ring():
    step = Round(np.array([0, 1, 2]), np.array([1, 2, 1]), np.zeros(3))
    network = make_network(2, latency_s=np.array([[0.0, 0.0], [1.0, 0.0]]))
    table, order = PeerTable(3, [step, step], is_pipelined=False), [0, 0, 1]
    [limit] = find_limits_of_time(table, network, order)
    assert (
        limit.seconds
        == reference.time_s(table, network, order)
        == TableTimer(table, network).time_s(order)
    )
    assert limit.seconds == 2.0


def test_the_slow_host_and_its_direction_are_named():
    send = np.full(6, 1e9)
    send[4] = 1e8
    network = make_network(6, send_bytes_s=send, receive_bytes_s=1e9)
    [limit] = find_limits_of_time(ring_table(6, 60e6), network, range(6))
    assert (limit.kind, limit.sending, limit.receiving) == (HOSTS, [4], [])


def test_a_ring_over_racks_in_any_order_waits_for_uplinks():
    network = racks_network(4, 4, shuffled=1)
    first = find_limits_of_time(ring_table(16, 64e6), network, range(16))[0]
    assert first.kind == UPLINKS
