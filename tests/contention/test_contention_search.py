"""The search by contention: against brute force and known optima; its bound; its native twin."""

from __future__ import annotations

import _thread
import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contention import reference
from contention.instances import halving_doubling_table, networks, racks_network, ring_table, tables
from plink.solvers import _native
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.contention_search import search_by_contention, sort_by_groups
from plink.solvers.contention.network import make_network
from plink.solvers.contention.time import TableTimer, native_problem


def native(table, network, order, *, steps=0, heat=0.0, seed=0):
    clock = TableTimer(table, network)
    tie_distance = np.zeros_like(network.latency_s)
    problem = native_problem(clock.loads, clock.waits, network, clock.ranks, tie_distance)
    return _native.ContentionSearch(problem, list(order), seed, steps, heat)


@given(st.data(), st.integers(2, 6))
def test_loads_kept_over_swaps_equal_the_twin(data, size):
    table = data.draw(tables(size), label="table")
    network = data.draw(networks(size), label="network")
    # Blurred latencies have no twin.
    network = make_network(
        size, **{name: value for name, value in vars(network).items() if name != "latency_s"}
    )
    chain = native(table, network, range(size), steps=50, heat=1.0)
    while not chain.is_done:
        chain.run(1.0)
    plain_s = reference.time_s(table, network, chain.current)
    assert chain.current_time_s == pytest.approx(plain_s, rel=1e-6, abs=1e-9)
    assert chain.order == chain.current
    assert plain_s <= reference.time_s(table, network, range(size)) * (1 + 1e-9)


@given(st.data(), st.integers(2, 5))
def test_small_cases_equal_brute_force_and_no_order_beats_the_bound(data, size):
    table = data.draw(tables(size), label="table")
    network = data.draw(networks(size), label="network")
    best_s = min(
        TableTimer(table, network).time_s(order) for order in itertools.permutations(range(size))
    )
    bound_s = lower_bound_s(table, network)
    assert bound_s <= best_s
    found = search_by_contention(table, network, time_limit_s=0.5, seed=1)
    assert found.cost == TableTimer(table, network).time_s(found.order)
    assert found.lower_bound <= found.cost
    assert found.cost <= best_s * 1.02 + 1e-9


@pytest.mark.parametrize(("racks", "hosts"), [(4, 4), (8, 16)])
def test_a_ring_leaves_every_rack_once_and_the_bound_says_that_this_is_best(racks, hosts):
    network = racks_network(racks, hosts, shuffled=3)
    table = ring_table(racks * hosts, 10e6)
    found = search_by_contention(table, network, time_limit_s=2.0)
    crossings = np.count_nonzero(
        network.group_of[found.order] != network.group_of[np.roll(found.order, 1)]
    )
    assert crossings == racks
    assert found.cost == pytest.approx(found.lower_bound, rel=0.02)


@pytest.mark.parametrize(("racks", "hosts"), [(4, 4), (4, 8)])
def test_halving_doubling_keeps_large_halves_in_the_rack(racks, hosts):
    network = racks_network(racks, hosts, shuffled=5)
    table = halving_doubling_table(racks * hosts, 10e6)
    in_racks = np.argsort(network.group_of, kind="stable").tolist()
    found = search_by_contention(table, network, time_limit_s=1.0)
    assert found.cost <= TableTimer(table, network).time_s(in_racks) * (1 + 1e-9)


def test_among_equally_quick_rings_the_nearer_one_wins():
    """Two racks of four on a line; distances say in which sequence to walk them."""
    network = make_network(8, group_of=[0, 1] * 4, uplink_send_bytes_s=1.0)
    place = np.array([0, 7, 2, 5, 1, 4, 3, 6], dtype=float)
    distance = np.abs(place[:, None] - place[None, :])
    found = search_by_contention(
        ring_table(8, 8.0), network, time_limit_s=0.5, tie_break_distance=distance
    )
    assert found.cost == pytest.approx(14.0)
    # There and back along the line.
    assert distance[found.order, np.roll(found.order, 1)].sum() == 14.0


@settings(max_examples=10, deadline=None)
@given(st.data(), st.integers(2, 12))
def test_no_start_is_ever_made_worse(data, size):
    table, network = data.draw(tables(size)), data.draw(networks(size))
    starts = data.draw(st.lists(st.permutations(range(size)), min_size=1, max_size=3))
    found = search_by_contention(table, network, starts, time_limit_s=0.02)
    assert sorted(found.order) == list(range(size))
    assert found.cost <= min(TableTimer(table, network).time_s(start) for start in starts)


def test_the_same_seed_finds_the_same():
    network = racks_network(2, 5, shuffled=1)
    table = ring_table(10, 1000.0)
    first, second = (
        search_by_contention(table, network, seed=7, time_limit_s=60.0) for _ in range(2)
    )
    assert first == second
    assert first.ended_by == "chains"


def test_an_interrupt_keeps_the_best_so_far():
    network = racks_network(16, 16, shuffled=2)
    table = halving_doubling_table(256, 1e6)
    threading.Timer(0.3, _thread.interrupt_main).start()
    found = search_by_contention(table, network, time_limit_s=60.0)
    assert found.ended_by == "interrupt"
    assert found.cost < TableTimer(table, network).time_s(range(256))


def test_what_is_found_does_not_depend_on_how_a_chain_is_cut():
    network = racks_network(4, 4, shuffled=1)
    table = halving_doubling_table(16, 1000.0)
    orders = []
    for slice_s in (0.0, 1e-5, 10.0):
        chain = native(table, network, range(16), steps=2000, heat=0.5, seed=3)
        chain.run(slice_s)
        while not chain.is_done:
            chain.run(max(slice_s, 1e-5))
        orders.append((chain.order, chain.steps))
    assert orders[0] == orders[1] == orders[2]


def test_groups_come_in_the_sequence_of_the_order():
    group_of = np.array([0, 1, 0, -1, 1, -1])
    assert sort_by_groups([4, 3, 0, 1, 2, 5], group_of) == [4, 1, 3, 0, 2, 5]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"start_orders": [[0, 1, 1]]}, "permutation"),
        ({"seed": -1}, "seed"),
        ({"time_limit_s": 0.0}, "time_limit_s"),
        ({"table": ring_table(4, 1.0)}, "4 ranks .* 3 hosts"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments, complaint):
    given_arguments = {"table": ring_table(3, 3.0), "network": make_network(3), **arguments}
    with pytest.raises(ValueError, match=complaint):
        search_by_contention(**given_arguments)


def _problem(**changed):
    known = {
        "group_of": [0, 0],
        "send_s_byte": [0.0, 0.0],
        "receive_s_byte": [0.0, 0.0],
        "uplink_send_s_byte": [0.0],
        "uplink_receive_s_byte": [0.0],
        "latency_s": np.zeros((2, 2)),
        "tie_distance": np.zeros((2, 2)),
    }
    return _native.ContentionProblem(**{**known, **changed})


def _of_three_ranks(call):
    problem = _problem()
    problem.set_loads([0, 1], [0], [2], [1.0], [1.0], 3)
    return call(problem)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _problem(group_of=[0, 1]),
        lambda: _problem(send_s_byte=[0.0]),
        lambda: _problem(send_s_byte=[0.0, np.inf]),
        lambda: _problem(latency_s=np.zeros((2, 3))),
        lambda: _problem().set_loads([0, 2], [0], [1], [1.0], [1.0], 2),
        lambda: _problem().set_loads([0, 1], [0], [2], [1.0], [1.0], 2),
        lambda: _problem().set_loads([0, 1], [0], [1], [-1.0], [1.0], 2),
        lambda: _problem().set_waits([0, 1], [0], [1], [1.0], [], 2),
        lambda: _of_three_ranks(
            lambda problem: _native.ContentionSearch(problem, [0, 1], 0, 0, 0.0)
        ),
        lambda: _of_three_ranks(lambda problem: _native.ContentionClock(problem, 2)),
        lambda: _native.ContentionSearch(_problem(), [0, 0], 0, 0, 0.0),
        lambda: _native.ContentionSearch(_problem(), [0, 1], 0, -1, 0.0),
    ],
)
def test_the_native_search_refuses_what_cannot_be(call):
    with pytest.raises(ValueError, match=r"fit|negative|permutation"):
        call()


def test_one_host_has_one_order():
    found = search_by_contention(PeerTable(1, []), make_network(1))
    assert (found.order, found.cost, found.ended_by) == ([0], 0.0, "exact")
