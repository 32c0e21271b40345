"""Rounds and bytes, by Table 4.1 of Luo 2020 and by walking every message."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans.strategies import forests, two_by_two
from plink.plans.forest import Forest, make_forest
from plink.plans.measures import bytes_between, measure
from plink.solvers.forests.kinds import flat, ring, two_level
from plink.solvers.forests.trees import Routes

S = 960.0

# N hosts in each of C racks.
RACKS = [(1, 3), (2, 2), (4, 4), (3, 5), (5, 3)]


def forest_of(routes: Routes) -> Forest:
    return make_forest(*routes)


def group_of(n: int, c: int) -> list[int]:
    return np.repeat(np.arange(c), n).tolist()


@pytest.mark.parametrize(("n", "c"), RACKS)
def test_a_fully_sharded_ps_is_that_of_table_4_1(n, c):
    found = measure(forest_of(flat(np.ones(n * c))), S, group_of=group_of(n, c))
    assert found.rounds == 2
    assert found.wire_bytes == pytest.approx(2 * (n * c - 1) * S)
    assert found.cross_group_bytes == pytest.approx(2 * n * (c - 1) * S)
    assert found.balance == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "c"), RACKS)
def test_2lha_is_that_of_table_4_1(n, c):
    routes = two_level(group_of(n, c), np.ones(n * c), np.ones(c))
    found = measure(forest_of(routes), S, group_of=group_of(n, c))
    assert found.rounds == (4 if n > 1 else 2)
    assert found.wire_bytes == pytest.approx(2 * S * (n * c - 1))
    assert found.cross_group_bytes == pytest.approx(2 * (c - 1) * S)
    assert found.balance == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "c"), RACKS)
def test_a_chunked_ring_takes_one_hop_less_than_table_4_1_has_for_it(n, c):
    # The table has 2NC - 1 rounds and (2NC - 1) S bytes; a chunk that has gone round to its root
    # and on to the last rank has taken 2NC - 2 hops.
    found = measure(forest_of(ring(range(n * c))), S, group_of=group_of(n, c))
    assert found.rounds == (2 * n * c - 1) - 1
    assert found.wire_bytes == pytest.approx((2 * n * c - 1) * S - S)
    assert found.balance == pytest.approx(1.0)


@pytest.mark.parametrize(("n", "c"), [rack for rack in RACKS if rack[0] > 1])
def test_the_least_that_a_chunk_of_a_ring_sends_between_racks_is_that_of_table_4_1(n, c):
    routes = ring(range(n * c))
    of_chunk = [
        measure(
            make_forest([1.0], routes.reduce_parents[[root]], routes.broadcast_parents[[root]]),
            S,
            group_of=group_of(n, c),
        ).cross_group_bytes
        for root in range(n * c)
    ]
    assert min(of_chunk) == pytest.approx((2 * c - 1) * S)
    whole = measure(forest_of(routes), S, group_of=group_of(n, c)).cross_group_bytes
    assert whole == pytest.approx(np.mean(of_chunk))
    assert whole == pytest.approx(2 * c * (1 - 1 / (n * c)) * S)


@pytest.mark.parametrize("c", [2, 3, 4])
def test_a_tree_of_fan_out_c_is_that_of_table_4_1(c):
    # N = C: each rack's ranks below its first, the racks' firsts below rank 0. The table's tree has
    # a leaf for every rank and counts messages of an inner node to the leaf on the same rank, of
    # which one in C is: hence its "about".
    ranks = np.arange(c * c)
    parents = np.where(ranks % c, ranks - ranks % c, 0)
    parents[0] = -1
    found = measure(make_forest([1.0], [parents], [parents]), S, group_of=group_of(c, c))
    counted = (c - 1) / c
    assert found.rounds == 2 * (1 + 1)
    assert found.wire_bytes == pytest.approx(2 * c * (c * c - 1) / (c - 1) * S * counted)
    assert found.cross_group_bytes == pytest.approx(2 * c * (c - 1) / (c - 1) * S * counted)


def test_a_small_plan_literally():
    found = measure(two_by_two(), 400.0, group_of=[0, 0, 1, 1], host_of=[0, 0, 1, 2])
    between = bytes_between(two_by_two(), 400.0)
    # Rank 0 is the GM of a quarter for 1 and 2, the LM of another for 1, and sends two up.
    assert between.tolist() == [
        [0, 400, 200, 0],
        [400, 0, 0, 200],
        [200, 0, 0, 400],
        [0, 200, 400, 0],
    ]
    assert found.rounds == 4
    assert found.wire_bytes == 2400.0 - 800.0
    assert found.cross_group_bytes == 800.0
    assert found.sent_bytes.tolist() == found.received_bytes.tolist() == [600.0] * 4
    assert found.balance == 1.0


def walked(forest: Forest) -> tuple[int, np.ndarray]:
    """The rounds, and the bytes between ranks, message by message."""
    total = np.zeros((forest.ranks, forest.ranks))
    most = 0
    for weight, up, down in zip(
        forest.weights,
        forest.reduce_parents.tolist(),
        forest.broadcast_parents.tolist(),
        strict=True,
    ):
        share = S * weight / forest.weights.sum()
        ways = []
        for parents in (up, down):
            lengths = []
            for start in range(forest.ranks):
                rank, length = start, 0
                while parents[rank] != -1:
                    rank, length = parents[rank], length + 1
                lengths.append(length)
            ways.append(max(lengths))
        for rank in range(forest.ranks):
            if up[rank] != -1:
                total[rank, up[rank]] += share
            if down[rank] != -1:
                total[down[rank], rank] += share
        if weight > 0.0:
            most = max(most, sum(ways))
    return most, total


@given(forests(), st.data())
def test_measures_are_those_of_a_walk(forest, data):
    places = st.lists(st.integers(0, 2), min_size=forest.ranks, max_size=forest.ranks)
    groups, hosts = data.draw(places), data.draw(places)
    found = measure(forest, S, group_of=groups, host_of=hosts)
    rounds, between = walked(forest)
    assert found.rounds == rounds
    assert found.sent_bytes == pytest.approx(between.sum(axis=1))
    assert found.received_bytes == pytest.approx(between.sum(axis=0))
    wire = cross = 0.0
    for source in range(forest.ranks):
        for destination in range(forest.ranks):
            if hosts[source] != hosts[destination]:
                wire += between[source, destination]
                if groups[source] != groups[destination]:
                    cross += between[source, destination]
    assert found.wire_bytes == pytest.approx(wire)
    assert found.cross_group_bytes == pytest.approx(cross)


@given(forests(least_ranks=2))
def test_bytes_are_conserved(forest):
    found = measure(forest, S)
    assert found.sent_bytes.sum() == pytest.approx(2 * (forest.ranks - 1) * S)
    assert found.received_bytes.sum() == pytest.approx(found.sent_bytes.sum())
    assert found.wire_bytes == pytest.approx(found.sent_bytes.sum())
    assert found.cross_group_bytes == 0.0
    assert 1.0 <= found.balance <= forest.ranks + 1e-9


def test_one_rank_sends_nothing():
    found = measure(make_forest([1.0], [[-1]], [[-1]]), S)
    assert (found.rounds, found.wire_bytes, found.balance) == (0, 0.0, 1.0)
