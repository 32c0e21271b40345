"""The search by contention: against brute force and known optima; its bound; its native twin."""

from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contention import reference
from contention.instances import (
    halving_doubling_table,
    networks,
    racks_network,
    ring_table,
    search,
    tables,
)
from plink.solvers import _native
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.contention_search import sort_by_groups
from plink.solvers.contention.network import make_network
from plink.solvers.contention.time import TableTimer, native_problem
from plink.solvers.limits import Deadline


def native(table, network, order, *, steps=0, heat=0.0, seed=0):
    problem = native_problem(TableTimer(table, network), np.zeros_like(network.latency_s))
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
    bound_s = lower_bound_s(TableTimer(table, network), Deadline())
    assert bound_s <= best_s
    found = search(table, network, time_limit_s=0.5, seed=1)
    assert found.cost == TableTimer(table, network).time_s(found.order)
    assert found.lower_bound <= found.cost
    assert found.cost <= best_s * 1.02 + 1e-9


@pytest.mark.parametrize(("racks", "hosts"), [(4, 4), (8, 16)])
def test_a_ring_leaves_every_rack_once_and_the_bound_says_that_this_is_best(racks, hosts):
    network = racks_network(racks, hosts, shuffled=3)
    table = ring_table(racks * hosts, 10e6)
    found = search(table, network, time_limit_s=2.0)
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
    found = search(table, network, time_limit_s=1.0)
    assert found.cost <= TableTimer(table, network).time_s(in_racks) * (1 + 1e-9)


def test_among_equally_quick_rings_the_nearer_one_wins():
    """Two racks of four on a line; distances say in which sequence to walk them."""
    network = make_network(8, group_of=[0, 1] * 4, uplink_send_bytes_s=1.0)
    place = np.array([0, 7, 2, 5, 1, 4, 3, 6], dtype=float)
    distance = np.abs(place[:, None] - place[None, :])
    found = search(ring_table(8, 8.0), network, time_limit_s=0.5, tie_distance=distance)
    assert found.cost == pytest.approx(14.0)
    # There and back along the line.
    assert distance[found.order, np.roll(found.order, 1)].sum() == 14.0


@settings(max_examples=10, deadline=None)
@given(st.data(), st.integers(2, 12))
def test_no_start_is_ever_made_worse(data, size):
    table, network = data.draw(tables(size)), data.draw(networks(size))
    starts = data.draw(st.lists(st.permutations(range(size)), min_size=1, max_size=3))
    found = search(table, network, starts, time_limit_s=0.02)
    assert sorted(found.order) == list(range(size))
    assert found.cost <= min(TableTimer(table, network).time_s(start) for start in starts)


def test_the_same_seed_finds_the_same():
    network = racks_network(2, 5, shuffled=1)
    table = ring_table(10, 1000.0)
    first, second = (search(table, network, seed=7, time_limit_s=60.0) for _ in range(2))
    assert first == second
    assert first.ended_by == "chains"


def test_an_interrupt_keeps_the_best_so_far():
    network = racks_network(16, 16, shuffled=2)
    table = halving_doubling_table(256, 1e6)
    found = search(
        table, network, time_limit_s=60.0, on_progress=lambda _: signal.raise_signal(signal.SIGINT)
    )
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
        ({"starts": [[0, 1, 1]]}, "permutation"),
        ({"seed": -1}, "seed"),
        ({"table": ring_table(4, 1.0)}, "4 hosts.* 3"),
    ],
)
def test_what_cannot_be_searched_is_refused(arguments, complaint):
    given_arguments = {"table": ring_table(3, 3.0), "network": make_network(3), **arguments}
    with pytest.raises(ValueError, match=complaint):
        search(**given_arguments)


def _stages(starts=(0, 1), sources=(0,), destinations=(1,)):
    return _native.ContentionStages(starts, sources, destinations, [1.0], [1.0], [False])


def _problem(**changed):
    known = {
        "group_of": [0, 0],
        "send_s_byte": [0.0, 0.0],
        "receive_s_byte": [0.0, 0.0],
        "uplink_send_s_byte": [0.0],
        "uplink_receive_s_byte": [0.0],
        "latency_s": np.zeros((2, 2)),
        "tie_distance": np.zeros((2, 2)),
        "loads": _stages(),
        "waits": _stages(),
    }
    return _native.ContentionProblem(**{**known, **changed})


@pytest.mark.parametrize(
    "changed",
    [
        {"group_of": [0, 1]},
        {"send_s_byte": [0.0]},
        {"latency_s": np.zeros((3, 3))},
        {"loads": _stages(starts=(0, 2))},
        {"loads": _stages(destinations=(2,))},
        {"waits": _stages(sources=(-1,))},
        {"waits": _stages(destinations=())},
    ],
)
def test_the_native_search_reads_only_what_there_is(changed):
    with pytest.raises(ValueError, match="fit"):
        _native.ContentionSearch(_problem(**changed), [0, 1], 0, 0, 0.0)
    with pytest.raises(ValueError, match="fit"):
        _native.ContentionClock(_problem(**changed), 2)


def test_the_native_search_begins_with_an_order():
    with pytest.raises(ValueError, match="permutation"):
        _native.ContentionSearch(_problem(), [0, 0], 0, 0, 0.0)


def test_one_host_has_one_order():
    found = search(PeerTable(1, []), make_network(1))
    assert (found.order, found.cost, found.ended_by) == ([0], 0.0, "exact")
