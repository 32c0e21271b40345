"""Several ranks a host, and more hosts than are needed, under contention."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plink
from contention.instances import networks, racks_network, ring_table, search, tables
from plink.base.replacing import replace
from plink.model.network import build_network
from plink.solvers.collectives.registry import find
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline


def positions(ranks: int, per_host: int) -> np.ndarray:
    return np.arange(ranks) // per_host


@given(st.data(), st.integers(1, 8))
def test_a_clock_of_positions_equals_that_of_ranks(data, ranks):
    table = data.draw(tables(ranks), label="table")
    position_of = positions(ranks, data.draw(st.integers(1, 3)))
    blocks = int(position_of.max()) + 1
    network = data.draw(networks(blocks + data.draw(st.integers(0, 2))), label="network")
    order = np.array(data.draw(st.permutations(range(network.hosts))))
    by_position = TableTimer(table, network, position_of).time_s(order[:blocks])
    expected = TableTimer(table, network).time_s(order[position_of])
    assert by_position == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.data(), st.integers(2, 5))
def test_small_cases_equal_brute_force_and_no_choice_beats_the_bound(data, hosts):
    per_host = data.draw(st.integers(1, 2))
    table = data.draw(tables(data.draw(st.integers(2, per_host * hosts))), label="table")
    position_of = positions(table.ranks, per_host)
    blocks = int(position_of.max()) + 1
    network = data.draw(networks(hosts), label="network")
    clock = TableTimer(table, network, position_of)
    chosen = itertools.permutations(range(hosts), blocks)
    best_s = min(clock.time_s(order) for order in chosen)
    assert lower_bound_s(clock, Deadline()) <= best_s * (1 + 1e-9)
    found = search(table, network, position_of=position_of, time_limit_s=0.5)
    assert found.cost == pytest.approx(best_s, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("per_host", [1, 2])
def test_a_ring_of_some_hosts_takes_whole_racks(per_host):
    network = racks_network(4, 4, shuffled=7)
    ranks = 12 * per_host
    found = search(
        ring_table(ranks, 10e6),
        network,
        position_of=positions(ranks, per_host),
        time_limit_s=2.0,
    )
    in_rack = np.bincount(network.group_of[found.order[:12]], minlength=4)
    assert sorted(in_rack) == [0, 4, 4, 4]
    assert found.cost == pytest.approx(found.lower_bound, rel=0.02)


def test_more_positions_than_hosts_are_refused():
    network = racks_network(1, 2)
    with pytest.raises(ValueError, match=r"3 hosts.* 2"):
        search(ring_table(6, 6.0), network, position_of=positions(6, 2))


@pytest.mark.parametrize("algorithm", ["openmpi-linear", "mpich-tree"])
def test_few_hosts_of_unequal_slots_are_ordered_exactly(algorithm):
    slots, gbit_s = [3, 1, 1, 3], [10.0, 1.0, 4.0, 2.0]
    names = list("abcd")
    rng = np.random.default_rng(1)
    cluster = plink.MeasuredCluster.from_matrix(
        names,
        rng.uniform(10.0, 50.0, (4, 4)),
        gbit_s=np.minimum.outer(gbit_s, gbit_s),
        groups={"r1": ["a", "d"], "r2": ["b", "c"]},
    )
    hosts = [replace(host, slots=number) for host, number in zip(cluster.hosts, slots, strict=True)]
    cluster = replace(cluster, hosts=hosts, uses_readings=True)
    order = plink.order(
        cluster,
        algorithm=algorithm,
        objective="contention",
        distances="readings",
        time_limit_s=0.05,
    )
    assert order.solver.ended_by == "exact"
    clock = TableTimer(find(algorithm).table(8, 100_000_000), build_network(cluster).network)
    placed = (np.repeat(hosts, np.take(slots, hosts)) for hosts in itertools.permutations(range(4)))
    best_us = min(1e6 * clock.time_s(placement) for placement in placed)
    assert order.cost.cost_us == pytest.approx(best_us)
    assert order.cost.lower_bound_us == pytest.approx(best_us)
