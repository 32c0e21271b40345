"""Times and bounds of forests, on networks whose times are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contention.instances import networks
from forests.instances import busiest_link, forest_of, racks, time_s
from plans.strategies import forests
from plink.plans.measures import bytes_between
from plink.solvers.collectives.steps import ring_table
from plink.solvers.collectives.trees import depths, heights, tree_table
from plink.solvers.contention.network import make_network, with_every_host_grouped
from plink.solvers.contention.time import TableTimer
from plink.solvers.forests.kinds import double_tree, flat, ring, two_level
from plink.solvers.forests.lower_bound import allreduce_exchange, lower_bound_s
from plink.solvers.forests.time import (
    LEAST_CHUNK_BYTES,
    MESSAGE_S,
    RoutesTimer,
    chunk_bytes,
    deal_chunks,
    sharing_s,
)
from plink.solvers.forests.trees import (
    Routes,
    make_routes,
    messages_on_the_way,
)

S = 20e6
B = 50e6


def two_level_of(network):
    return two_level(network.group_of, network.send_bytes_s, network.uplink_send_bytes_s)


def time_of(routes: Routes, network) -> float:
    return time_s(routes, range(network.hosts), network, S)


def fill_of(routes: Routes, hosts, network, size: float) -> float:
    chunks = np.full(len(routes.weights), chunk_bytes(size, len(routes.weights)))
    return RoutesTimer(routes, hosts, network, size, chunks).fill_s(network)


def handled_s(routes: Routes) -> float:
    up, down = routes.reduce_parents.astype(int), routes.broadcast_parents.astype(int)
    return MESSAGE_S * int(messages_on_the_way(up, down).max())


@pytest.mark.parametrize("hosts", [2, 5, 16])
def test_flat_and_ring_meet_the_bound_where_nothing_is_oversubscribed(hosts):
    network = make_network(hosts, send_bytes_s=B, receive_bytes_s=B)
    least_s = 2 * S * (1 - 1 / hosts) / B
    assert lower_bound_s(network, allreduce_exchange(S)) == pytest.approx(least_s)
    for routes in (flat(network.send_bytes_s), ring(range(hosts))):
        assert time_of(routes, network) == pytest.approx(least_s + handled_s(routes))


@pytest.mark.parametrize(("count", "hosts"), [(4, 4), (8, 4), (3, 2)])
def test_two_levels_gain_what_they_can_where_uplinks_limit(count, hosts):
    network = racks([hosts] * count, host=B, uplink=B / 4)
    ranks = count * hosts
    two, around = two_level_of(network), ring(range(ranks))
    fast_s = 2 * S * (1 - 1 / count) / (B / 4)
    slow_s = 2 * S * (1 - 1 / ranks) / (B / 4)
    assert lower_bound_s(network, allreduce_exchange(S)) == pytest.approx(fast_s)
    assert time_of(two, network) == pytest.approx(fast_s + handled_s(two))
    assert time_of(around, network) == pytest.approx(slow_s + handled_s(around))
    assert slow_s / fast_s == pytest.approx((1 - 1 / ranks) / (1 - 1 / count))


@pytest.mark.parametrize("uplink", [B, B / 2, 4 * B])
def test_the_links_of_racks_of_4_4_2_1_are_no_busier_than_with_their_ring(uplink):
    network = racks([4, 4, 2, 1], host=B, uplink=uplink, latency=20e-6)
    two, around = two_level_of(network), ring(range(11))
    shared_s = sharing_s(two, np.arange(11), network, S)
    assert time_of(two, network) - shared_s <= time_of(around, network)
    carried_s = time_of(two, network) - handled_s(two) - 4 * 20e-6
    assert carried_s - shared_s == pytest.approx(lower_bound_s(network, allreduce_exchange(S)))


def test_flows_of_unequal_racks_end_at_different_times_and_those_of_equal_ones_together():
    for sizes, least, most in (([4, 4, 4], 0.0, 1e-6), ([4, 4, 2, 1], 0.05, 0.15)):
        network = racks(sizes, host=B, uplink=B)
        hosts = np.arange(sum(sizes))
        share = sharing_s(two_level_of(network), hosts, network, S) / lower_bound_s(
            network, allreduce_exchange(S)
        )
        assert least <= share <= most
        assert sharing_s(ring(hosts), hosts, network, S) == pytest.approx(0.0, abs=1e-9)
    free = make_network(4)
    assert sharing_s(flat(np.ones(4)), np.arange(4), free, S) == 0.0


def test_latency_is_waited_for_once_a_round():
    network = racks([4, 4], latency=1.0, host=np.inf, uplink=np.inf)
    for routes, rounds in (
        (two_level_of(network), 4),
        (flat(np.ones(8)), 2),
        (ring(range(8)), 14),
    ):
        assert time_of(routes, network) == pytest.approx(rounds + handled_s(routes))


def test_a_ring_takes_what_the_ring_of_a_library_takes():
    network = racks([3, 3], host=B, uplink=B / 2, latency=1e-3)
    order = [0, 3, 1, 4, 2, 5]
    table = ring_table(6, int(S), is_pipelined=True)
    known_s = TableTimer(table, network).time_s(order)
    routes = ring(order)
    assert time_of(routes, network) == pytest.approx(known_s + handled_s(routes), rel=1e-6)


def test_ranks_handle_messages_one_after_the_other():
    star = flat(np.ones(4))
    up = star.reduce_parents.astype(int)
    # A child sends; the root takes 3 and sends 3; the last child takes its own.
    assert messages_on_the_way(up, up).tolist() == [1 + 3 + 3 + 1] * 4
    chain = ring(range(4))
    found = messages_on_the_way(
        chain.reduce_parents.astype(int), chain.broadcast_parents.astype(int)
    )
    assert found.tolist() == [2 * 3 * 2] * 4
    network = racks([4, 4, 4, 4], host=np.inf, uplink=np.inf)
    two = two_level_of(network)
    # Up: send, 3 taken, send, 3 taken (those of the GM's own group came before) with 3 more.
    found = messages_on_the_way(two.reduce_parents.astype(int), two.broadcast_parents.astype(int))
    assert found.max() == (1 + 3 + 1 + 6) + (6 + 1 + 3 + 1)


def test_a_small_buffer_takes_one_route_and_two_levels_are_quicker_than_a_star():
    network = racks([4, 4, 4, 4], host=B, uplink=B, latency=20e-6)
    two, star = two_level_of(network), flat(network.send_bytes_s)
    for routes in (two, star):
        assert len(deal_chunks(routes, LEAST_CHUNK_BYTES).weights) == 1
        assert len(deal_chunks(routes, 3 * LEAST_CHUNK_BYTES).weights) == 3
        assert all(map(np.array_equal, deal_chunks(routes, S), routes))
    quick_s, slow_s = (
        time_s(routes, range(16), network, LEAST_CHUNK_BYTES / 2) for routes in (two, star)
    )
    assert 1.5 * quick_s < slow_s


def test_few_chunks_go_to_routes_by_largest_remainder():
    tree = [[-1, 0, 0, 0], [1, -1, 1, 1], [2, 2, -1, 2], [3, 3, 3, -1]]
    routes = make_routes([0.1, 0.55, 0.3, 0.05], tree)
    for chunks, weights, used in (
        (1, [1.0], [1]),
        (2, [1 / 2, 1 / 2], [1, 2]),
        # 0.3, 1.65, 0.9 and 0.15 chunks.
        (3, [2 / 3, 1 / 3], [1, 2]),
    ):
        found = deal_chunks(routes, chunks * LEAST_CHUNK_BYTES)
        assert found.weights == pytest.approx(weights)
        assert found.reduce_parents.tolist() == [tree[route] for route in used]


def test_ranks_of_a_host_exchange_data_for_free():
    network = make_network(2, latency_s=[[0, 1], [1, 0]], send_bytes_s=1.0, receive_bytes_s=1.0)
    star = make_routes([1.0], [[-1, 0, 0, 0]])
    one_host = time_s(star, [0, 0, 0, 0], network, 8.0)
    assert one_host == pytest.approx(MESSAGE_S * 8)
    # Three messages of 8 bytes to host 0 and then three back, a second each way of latency.
    assert time_s(star, [0, 1, 1, 1], network, 8.0) == pytest.approx(2 + 24 + 24 + MESSAGE_S * 8)


def test_a_chunk_crosses_one_link_after_the_other():
    network = racks([2, 2], host=B, uplink=B / 4)
    size = 2.0 * LEAST_CHUNK_BYTES
    link_s, uplink_s = size / B, 4 * size / B
    star = make_routes([1.0], [[-1, 0, 0, 0]])
    # Rank 1 is in the rack, the other two beyond the uplink; up, and down again.
    once = 2 * (link_s + 2 * uplink_s)
    assert chunk_bytes(size, 1) == size
    assert fill_of(star, np.arange(4), network, size) == pytest.approx(once - 2 * uplink_s)
    chain = make_routes([1.0], [[-1, 0, 1, 2]])
    once = 2 * (2 * link_s + uplink_s)
    assert fill_of(chain, np.arange(4), network, size) == pytest.approx(once - uplink_s)


@pytest.mark.parametrize(("count", "hosts"), [(4, 4), (3, 2)])
def test_a_ring_that_is_busy_everywhere_has_nothing_to_fill(count, hosts):
    network = racks([hosts] * count, host=B, uplink=B)
    assert fill_of(ring(range(count * hosts)), np.arange(count * hosts), network, S) < 1e-9


def test_a_larger_buffer_is_cut_finer_and_fills_sooner():
    network = racks([4, 4], host=B, uplink=B)
    order = list(range(8))
    shares = [
        fill_of(double_tree(order), np.arange(8), network, size)
        / time_s(double_tree(order), order, network, size)
        for size in (1e4, 1e6, 1e7, 1e8)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] < 0.02 < shares[0]


@given(networks(6), st.data())
def test_no_forest_beats_the_bound_and_links_are_as_in_a_sum(network, data):
    groups = with_every_host_grouped(network)
    links = np.minimum(network.send_bytes_s, network.receive_bytes_s)
    uplinks = np.minimum(groups.uplink_send_bytes_s, groups.uplink_receive_bytes_s)
    order = data.draw(st.permutations(range(6)))
    weights = data.draw(st.lists(st.floats(0.1, 1.0), min_size=6, max_size=6))
    around = ring(order)
    for routes in (
        flat(links),
        around,
        make_routes(weights, around.reduce_parents, around.broadcast_parents),
        double_tree(order),
        two_level(groups.group_of, links, uplinks),
    ):
        busiest = S * busiest_link(routes, network)
        assert lower_bound_s(network, allreduce_exchange(S)) <= busiest * (1.0 + 1e-9)
        assert TableTimer(tree_table(*routes, S), make_silent(network)).time_s(range(6)) == (
            pytest.approx(busiest)
        )


def make_silent(network):
    """The network without latencies."""
    return make_network(
        network.hosts,
        send_bytes_s=network.send_bytes_s,
        receive_bytes_s=network.receive_bytes_s,
        group_of=network.group_of,
        uplink_send_bytes_s=network.uplink_send_bytes_s,
        uplink_receive_bytes_s=network.uplink_receive_bytes_s,
    )


def test_one_host_needs_no_time():
    assert lower_bound_s(make_network(1, send_bytes_s=1.0), allreduce_exchange(S)) == 0.0


def test_hosts_without_a_group_are_groups():
    network = make_network(
        4, group_of=[-1, 2, -1, 2], uplink_send_bytes_s=[1, 2, 3], uplink_receive_bytes_s=[4, 5, 6]
    )
    found = with_every_host_grouped(network)
    assert found.group_of.tolist() == [1, 0, 2, 0]
    assert found.uplink_send_bytes_s.tolist() == [3, np.inf, np.inf]
    assert found.uplink_receive_bytes_s.tolist() == [6, np.inf, np.inf]


def way_to_root(tree, member):
    """The member and all above it."""
    return [member, *way_to_root(tree, tree[member])] if member >= 0 else []


@given(forests())
def test_many_trees_at_once_are_as_deep_and_high_as_one_by_one(forest):
    parents = forest.reduce_parents.astype(np.intp)
    for tree, depth, height in zip(parents, depths(parents), heights(parents), strict=True):
        ways = [way_to_root(tree, member) for member in range(len(tree))]
        assert depth.tolist() == [len(way) - 1 for way in ways]
        for member in range(len(tree)):
            assert height[member] == max(way.index(member) for way in ways if member in way)


@given(forests())
def test_a_table_holds_the_bytes_of_the_forest(forest):
    routes = Routes(forest.shares, forest.reduce_parents, forest.broadcast_parents)
    table = tree_table(*routes, 100.0)
    assert table.bytes_between() == pytest.approx(bytes_between(forest, 100.0))
    assert forest_of(routes).ranks == table.ranks
