"""The time of a table: known cases, and the fast evaluator against its plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention import reference
from contention.instances import (
    flows,
    halving_doubling_table,
    networks,
    racks_network,
    ring_table,
    tables,
)
from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.contention.network import make_network
from plink.solvers.contention.stages import distinct_rounds
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline


@given(st.data(), st.integers(1, 6))
def test_the_fast_evaluator_equals_its_twin(data, ranks):
    table = data.draw(tables(ranks), label="table")
    hosts = data.draw(st.integers(1, 6), label="hosts")
    network = data.draw(networks(hosts), label="network")
    order = data.draw(st.lists(st.integers(0, hosts - 1), min_size=ranks, max_size=ranks))
    plain_s = reference.time_s(table, network, order)
    assert TableTimer(table, network).time_s(order) == pytest.approx(plain_s, rel=1e-9, abs=1e-12)


def test_many_orders_take_what_each_takes_and_the_first_is_priced_in_any_case():
    table, network = halving_doubling_table(16, 64e6), racks_network(4, 4, shuffled=1)
    clock = TableTimer(table, network)
    orders = np.array([np.random.default_rng(seed).permutation(16) for seed in range(50)])
    times = clock.times_s(orders, Deadline(60.0))
    assert times.tolist() == [clock.time_s(order) for order in orders]
    assert len(set(times.tolist())) > 1
    assert clock.times_s(orders, Deadline(0.0)).tolist() == times[:1].tolist()
    with pytest.raises(ValueError, match="fit"):
        clock.times_s(orders + 1, Deadline(60.0))


def crossing_order(crossing: int) -> list[int]:
    """Four racks of four whose ring leaves rack 0 so many times, and no rack more often."""
    turns = {
        1: [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
        2: [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3],
        3: [0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2, 3, 0, 1, 2, 3],
        4: [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
    }[crossing]
    left = {rack: list(range(4 * rack, 4 * rack + 4)) for rack in range(4)}
    return [left[rack].pop() for rack in turns]


@pytest.mark.parametrize("crossing", [1, 2, 3, 4])
@pytest.mark.parametrize("step", [1, -1])
def test_a_ring_takes_as_long_as_its_most_crossed_uplink(crossing, step):
    network = racks_network(4, 4)
    took_s = TableTimer(ring_table(16, 10e6, step), network).time_s(crossing_order(crossing))
    # 2 x 15/16 of 10 MB over 50 MB/s, once for each edge that leaves; latencies add 1.5 ms.
    assert took_s == pytest.approx(crossing * 0.375, abs=2e-3)


def test_messages_that_go_round_wait_for_the_mean_latency():
    latency_s = np.array([[0.0, 1.0, 9.0], [9.0, 0.0, 4.0], [10.0, 9.0, 0.0]])
    network = make_network(3, latency_s=latency_s)
    assert TableTimer(ring_table(3, 3.0), network).time_s([0, 1, 2]) == pytest.approx(4 * 5.0)
    once = PeerTable(3, ring_table(3, 3.0).rounds[:1])
    assert TableTimer(once, network).time_s([0, 1, 2]) == pytest.approx(10.0)


def test_rounds_wait_for_the_slowest_link_and_pipelines_for_the_busiest():
    rounds = [flows([(0, 1), (2, 3)], 100.0), flows([(0, 2), (1, 3)], 60.0)]
    network = make_network(4, send_bytes_s=[10, 20, 20, 20], latency_s=np.ones((4, 4)) - np.eye(4))
    assert TableTimer(PeerTable(4, rounds), network).time_s([0, 1, 2, 3]) == pytest.approx(
        10 + 6 + 2
    )
    assert TableTimer(PeerTable(4, rounds), network).time_s([2, 1, 0, 3]) == pytest.approx(
        10 + 3 + 2
    )
    # Piped, rank 0 sends all of its 160 bytes at once.
    piped = PeerTable(4, rounds, is_pipelined=True)
    assert TableTimer(piped, network).time_s([0, 1, 2, 3]) == pytest.approx(16 + 2)
    assert TableTimer(piped, network).time_s([2, 1, 0, 3]) == pytest.approx(10 + 2)


def test_directions_of_a_link_do_not_disturb_each_other():
    network = racks_network(2, 2, link_bytes_s=10.0)
    both_ways = PeerTable(4, [flows([(0, 2), (2, 0)], 100.0)])
    one_way_twice = PeerTable(4, [flows([(0, 2), (1, 3)], 100.0)])
    assert TableTimer(both_ways, network).time_s(range(4)) == pytest.approx(10.0, rel=1e-4)
    assert TableTimer(one_way_twice, network).time_s(range(4)) == pytest.approx(20.0, rel=1e-4)


def test_ranks_of_one_host_exchange_for_free():
    network = racks_network(2, 2, link_bytes_s=10.0)
    table = PeerTable(4, [flows([(0, 1), (2, 3)], 100.0)])
    assert TableTimer(table, network).time_s([0, 0, 3, 3]) == 0.0
    # Two flows share the links of hosts 0 and 3.
    table = PeerTable(4, [flows([(0, 2), (1, 3)], 100.0)])
    assert TableTimer(table, network).time_s([0, 0, 3, 3]) == pytest.approx(20.0, rel=1e-4)


def test_rounds_that_are_alike_stand_once():
    rounds = distinct_rounds(ring_table(512, 20e6))
    assert (rounds.counts.tolist(), rounds.goes_round.tolist()) == ([1022], [True])
    rounds = distinct_rounds(halving_doubling_table(16, 1600.0))
    assert rounds.counts.tolist() == [2, 2, 2, 2]
    assert rounds.sizes_bytes[rounds.starts[:-1]].tolist() == [800, 400, 200, 100]
    assert not rounds.goes_round.any()


def test_parts_that_differ_by_an_element_are_alike():
    edges = ring_table(3, 3.0).rounds[0]
    parts = [np.roll([1004.0, 1000.0, 1000.0], shift) for shift in range(3)]
    table = PeerTable(3, [Round(edges.sources, edges.destinations, part) for part in parts])
    rounds = distinct_rounds(table)
    assert rounds.counts.tolist() == [3]
    assert rounds.sizes_bytes == pytest.approx([3004 / 3] * 3)


def test_what_is_not_known_takes_no_time():
    assert TableTimer(ring_table(4, 1e9), make_network(4)).time_s(range(4)) == 0.0
    assert TableTimer(PeerTable(1, []), make_network(1)).time_s([0]) == 0.0


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"latency_s": np.ones((2, 2))}, "latency_s"),
        ({"latency_s": np.zeros((2, 3))}, "latency_s"),
        ({"send_bytes_s": 0.0}, "send_bytes_s"),
        ({"receive_bytes_s": [1.0, np.nan]}, "receive_bytes_s"),
        ({"group_of": [0, -2]}, "group_of"),
        ({"group_of": [0, 1], "uplink_send_bytes_s": [5.0]}, "uplink_send_bytes_s"),
    ],
)
def test_a_network_that_cannot_be_is_refused(wrong, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_network(2, **wrong)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 3], [0, 1, -1]])
def test_an_order_that_does_not_fit_is_refused(order):
    with pytest.raises(ValueError, match="fit"):
        TableTimer(ring_table(3, 3.0), make_network(3)).time_s(order)
