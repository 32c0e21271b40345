"""Forests of every kind: literally where small, by their properties for any network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forests.instances import busiest_link, forest_of, racks
from plink.plans.check import check
from plink.plans.measures import measure
from plink.solvers.contention.network import make_network
from plink.solvers.forests.kinds import double_tree, flat, master_shares, ring, two_level

RATES = st.sampled_from([1.0, 1.5, 4.0, 10.0])


def test_flat_is_a_star_for_every_member():
    found = flat(np.ones(3))
    assert found.weights.tolist() == pytest.approx([1 / 3] * 3)
    assert found.reduce_parents.tolist() == [[-1, 0, 0], [1, -1, 1], [2, 2, -1]]
    assert (found.broadcast_parents == found.reduce_parents).all()


def test_flat_spares_a_slow_link():
    found = flat([1.0, 1.0, 0.2, 1.0])
    assert np.argmin(found.reduce_parents, axis=1).tolist() == [0, 1, 3]


def test_a_ring_is_a_chain_to_every_member_and_one_from_it():
    found = ring([0, 2, 1])
    # 0 sends to 2, 2 to 1, 1 to 0; the routes' roots follow each other round the ring.
    assert found.reduce_parents.tolist() == [[-1, 0, 1], [2, 0, -1], [2, -1, 1]]
    assert found.broadcast_parents.tolist() == [[-1, 2, 0], [1, 2, -1], [1, -1, 0]]
    assert found.weights.tolist() == pytest.approx([1 / 3] * 3)


def test_a_double_tree_is_ncclis_in_the_given_places():
    found = double_tree([3, 1, 0, 2])
    # By place [-1, 2, 0, 2] and [1, 3, 1, -1].
    assert found.reduce_parents.tolist() == [[3, 0, 0, -1], [1, 2, -1, 1]]
    assert found.weights.tolist() == [0.5, 0.5]


def test_two_groups_of_two_literally():
    found = two_level([0, 0, 1, 1], np.ones(4), np.ones(2))
    assert found.weights.tolist() == [0.25] * 4
    by_root = {tree.index(-1): tree for tree in map(list, found.reduce_parents.tolist())}
    assert by_root == {
        0: [-1, 0, 0, 2],
        1: [1, -1, 3, 1],
        2: [2, 0, -1, 2],
        3: [1, 3, 3, -1],
    }


@pytest.mark.parametrize(("racks_", "hosts"), [(4, 4), (8, 4), (2, 3), (3, 1), (1, 4)])
def test_equal_racks_give_a_route_of_equal_weight_for_each_member(racks_, hosts):
    groups = np.repeat(np.arange(racks_), hosts)
    found = two_level(groups, np.ones(len(groups)), np.full(racks_, 0.5))
    assert len(found.weights) == len(groups)
    assert found.weights == pytest.approx(1 / len(groups))
    assert sorted(np.argmin(found.reduce_parents, axis=1)) == list(range(len(groups)))


def test_routes_that_follow_each_other_have_masters_apart():
    found = two_level(np.repeat(np.arange(4), 4), np.ones(16), np.ones(4))
    roots = np.argmin(found.reduce_parents, axis=1)
    assert len(set(roots[:4].tolist())) == 4
    assert len({int(root) % 4 for root in roots[:8]}) == 4


@st.composite
def grouped(draw: st.DrawFn):
    """Sizes of groups, rates of links and uplinks, and members dealt to groups in any order."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    group_of = draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    links = draw(st.lists(RATES, min_size=len(group_of), max_size=len(group_of)))
    rates = RATES | st.just(np.inf)
    uplinks = draw(st.lists(rates, min_size=len(sizes), max_size=len(sizes)))
    return np.array(group_of), np.array(links), np.array(uplinks)


@given(grouped())
def test_two_levels_aggregate_within_groups_first_and_meet_the_balance(given_network):
    group_of, links, uplinks = given_network
    found = two_level(group_of, links, uplinks)
    check(forest_of(found))
    assert found.weights.sum() == pytest.approx(1.0)
    assert (found.weights > 0.0).all()
    for tree in found.reduce_parents:
        gm = int(np.argmin(tree))
        for member, parent in enumerate(tree):
            is_local = parent >= 0 and group_of[parent] == group_of[member]
            assert member == gm or is_local or (parent == gm and group_of[gm] != group_of[member])
        # One message a group leaves it, but for the GM's.
        crossing = [
            group_of[member]
            for member, parent in enumerate(tree)
            if parent >= 0 and group_of[parent] != group_of[member]
        ]
        assert sorted(crossing) == sorted(set(group_of.tolist()) - {group_of[gm]})
    network = make_network(
        len(group_of),
        send_bytes_s=links,
        receive_bytes_s=links,
        group_of=group_of,
        uplink_send_bytes_s=uplinks,
        uplink_receive_bytes_s=uplinks,
    )
    predicted = master_shares(group_of, links, uplinks).seconds_per_byte
    assert busiest_link(found, network) <= predicted * (1.0 + 1e-6) + 1e-9


@given(st.integers(1, 12), st.randoms(use_true_random=False))
def test_any_kind_over_any_order_aggregates(members, random):
    order = list(range(members))
    random.shuffle(order)
    for routes in (flat(np.ones(members)), ring(order), double_tree(order)):
        forest = forest_of(routes)
        check(forest)
        found = measure(forest, 1.0)
        assert found.wire_bytes == pytest.approx(2.0 * (members - 1))


def test_unequal_racks_cost_no_more_than_a_ring_in_rack_order():
    network = racks([4, 4, 2, 1])
    two = two_level(network.group_of, network.send_bytes_s, network.uplink_send_bytes_s)
    around = ring(range(11))
    assert busiest_link(around, network) == pytest.approx(2 * (1 - 1 / 11))
    assert busiest_link(two, network) <= busiest_link(around, network) * (1.0 + 1e-9)
    equal = two_level(network.group_of, network.send_bytes_s, np.full(4, np.inf))
    assert busiest_link(equal, network) == pytest.approx(2 * (1 - 1 / 11))
