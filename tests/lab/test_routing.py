"""Addresses and routes of a routed lab: every packet finds its way, and the truth names it."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import routing, wiring
from labkit.addressing import addresses_needed
from labkit.errors import LabError, WrongUseError
from labkit.shape import RackShape, RowShape, Shape, check_shape
from labkit.subnets import choose
from labkit.topology import Topology, place


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    hops = st.integers(0, 3)
    rows = draw(st.lists(st.builds(RowShape, st.none(), hops), max_size=3))
    row = st.integers(0, len(rows) - 1) if rows else st.none()
    rack = st.builds(RackShape, st.integers(1, 9), st.none(), st.none(), hops, row)
    racks = draw(st.lists(rack, min_size=1, max_size=6))
    return check_shape(Shape(tuple(racks), tuple(rows), routed=True))


def placed(shape: Shape, seed: int = 1) -> Topology:
    return place("t", shape, seed, choose("t", addresses_needed(shape), []))


topologies = st.builds(placed, shapes(), st.integers(0, 99))


def forward(topology: Topology, source: str, destination: str) -> list[str]:
    """The addresses at which a packet reaches routers, by their own tables and cables."""
    routers = routing.routers(topology)
    owner = {
        str(address.ip): name
        for name, router in routers.items()
        for address in router.addresses.values()
    }
    rack = topology.host(source).rack
    at = str(routing.gateway(topology.rack_subnet(rack)).ip)
    visited = [at]
    target = IPv4Address(topology.host(destination).address)
    while True:
        router = routers[owner[at]]
        if any(target in address.network for address in router.addresses.values()):
            return visited
        fitting = [network for network in router.routes if target in network]
        at = router.routes[max(fitting, key=lambda network: network.prefixlen)]
        # The next router is a neighbour, on a network that both have an address in.
        assert at in router.neighbours
        visited.append(at)
        assert len(visited) < 100


@given(topologies)
def test_packets_go_where_the_truth_says(topology: Topology) -> None:
    paths = routing.paths(topology)
    hosts = topology.hosts[:8]
    for source in hosts:
        for destination in hosts:
            truth = paths[source.rack][destination.rack]
            if source.rack == destination.rack:
                assert truth == []
            else:
                assert truth == forward(topology, source.name, destination.name)


@given(topologies)
def test_a_path_has_a_router_for_every_switch_on_the_way(topology: Topology) -> None:
    switches = {switch.name: switch for switch in topology.switches}

    def above(name: str) -> list[str]:
        way = [name]
        while name in switches:
            switch = switches[name]
            way += [f"{name}-h{number}" for number in range(1, switch.hops + 1)]
            name = switch.parent
            way.append(name)
        return way

    for one in topology.racks:
        for other in topology.racks:
            up, down = above(one), above(other)
            first = next(name for name in up if name in down)
            between = up.index(first) + down.index(first) + 1
            assert len(routing.path(topology, one, other)) == (0 if one == other else between)


@given(topologies)
def test_every_address_is_given_once_and_lies_in_the_labs_subnet(topology: Topology) -> None:
    given_out = [host.address for host in topology.hosts] + [topology.machine_address]
    for router in routing.routers(topology).values():
        given_out += [str(address.ip) for address in router.addresses.values()]
    assert len(set(given_out)) == len(given_out)
    assert all(IPv4Address(address) in IPv4Network(topology.subnet) for address in given_out)
    for host in topology.hosts:
        subnet = topology.rack_subnet(host.rack)
        assert IPv4Address(host.address) in set(subnet.hosts())
    assert set(routing.routers(topology)) == set(wiring.switch_elements(topology))


def test_the_order_of_the_subnets_says_nothing_about_the_rack() -> None:
    shape = Shape(tuple(RackShape(2, None, None, 0) for _ in range(4)), routed=True)
    firsts = set()
    for seed in range(60):
        topology = placed(shape, seed)
        firsts.add(min(topology.racks, key=topology.rack_subnet))
    assert firsts == {"r1", "r2", "r3", "r4"}


def test_hosts_of_a_bridged_lab_have_no_router_between_them() -> None:
    topology = placed(Shape(tuple(RackShape(2, None, None, 3) for _ in range(2))))
    assert not topology.is_routed
    assert routing.paths(topology)["r1"] == {"r1": [], "r2": []}


def test_a_host_of_a_routed_lab_cannot_move() -> None:
    topology = placed(Shape(tuple(RackShape(1, None, None, 0) for _ in range(2)), routed=True))
    with pytest.raises(WrongUseError, match="routed"):
        topology.with_rack("n01", "r2")


def test_a_lab_too_large_for_a_subnet_is_refused() -> None:
    large = RackShape(700, None, None, 0)
    small = RackShape(1, None, None, 0)
    shape = check_shape(Shape((large, *([small] * 200)), routed=True))
    with pytest.raises(LabError, match="too many"):
        choose("t", addresses_needed(shape), [])
