"""A routed lab's addresses and routes. Pure.

Every rack is a subnet with its router in it, every cable between two routers a network of two
addresses (RFC 3021). The network is a tree: what lies below is routed down, all else up.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from labkit import wiring
from labkit.addressing import TRANSFER_ADDRESSES
from labkit.topology import SPINE, Topology
from labkit.wiring import BRIDGE, MACHINE, Cable

EVERYTHING = IPv4Network("0.0.0.0/0")


@dataclass
class Router:
    """What a router is given.

    Args:
        addresses: interface to its address.
        neighbours: address to the interface that it is behind.
        routes: network to the address of the next router.
    """

    addresses: dict[str, IPv4Interface]
    neighbours: dict[str, str]
    routes: dict[IPv4Network, str]


@dataclass(frozen=True)
class Transfer:
    """A cable between two routers, or between the machine and the spine, and its addresses."""

    cable: Cable
    network: IPv4Network

    @property
    def lower(self) -> IPv4Interface:
        """The address of the lower end."""
        return IPv4Interface((self.network[0], self.network.prefixlen))

    @property
    def upper(self) -> IPv4Interface:
        """The address of the upper end."""
        return IPv4Interface((self.network[1], self.network.prefixlen))


def gateway(rack_subnet: IPv4Network) -> IPv4Interface:
    """The router's address in a rack's subnet."""
    return IPv4Interface((rack_subnet[1], rack_subnet.prefixlen))


def transfers(topology: Topology) -> list[Transfer]:
    """Every cable that carries a network of its own; the machine's is the first."""
    base = IPv4Address(topology.machine_address)
    return [
        Transfer(cable, IPv4Network((base + TRANSFER_ADDRESSES * number, 31)))
        for number, cable in enumerate(wiring.trunks(topology))
    ]


def routers(topology: Topology) -> dict[str, Router]:
    """Every router by its name."""
    found: dict[str, Router] = defaultdict(lambda: Router({}, {}, {}))
    for rack in topology.racks:
        found[rack].addresses[BRIDGE] = gateway(topology.rack_subnet(rack))
    for host in topology.hosts:
        found[host.rack].neighbours[host.address] = BRIDGE
    below: dict[str, list[IPv4Network]] = defaultdict(list)
    for rack in topology.racks:
        below[rack].append(topology.rack_subnet(rack))
    # From the leaves up, so that all below a cable is known when the cable's turn comes.
    for transfer in _leaves_first(topology):
        lower, upper = transfer.cable.lower, transfer.cable.upper
        above = found[upper.element]
        above.addresses[upper.interface] = transfer.upper
        above.neighbours[str(transfer.lower.ip)] = upper.interface
        above.routes |= dict.fromkeys(below[lower.element], str(transfer.lower.ip))
        below[upper.element] += [transfer.network, *below[lower.element]]
        if lower.element != MACHINE:
            under = found[lower.element]
            under.addresses[lower.interface] = transfer.lower
            under.neighbours[str(transfer.upper.ip)] = lower.interface
            under.routes[EVERYTHING] = str(transfer.upper.ip)
    return dict(found)


def path(topology: Topology, source_rack: str, destination_rack: str) -> list[str]:
    """The routers between hosts of two racks, by the addresses at which packets reach them."""
    if not topology.is_routed or source_rack == destination_rack:
        return []
    transfer_above = {transfer.cable.lower.element: transfer for transfer in transfers(topology)}
    ways = [_way_up(transfer_above, rack) for rack in (source_rack, destination_rack)]
    while ways[0] and ways[1] and ways[0][-1] == ways[1][-1]:
        ways[0].pop()
        ways[1].pop()
    up, down = ways
    return [
        str(gateway(topology.rack_subnet(source_rack)).ip),
        *(str(transfer.upper.ip) for transfer in up),
        *(str(transfer.lower.ip) for transfer in reversed(down)),
    ]


def paths(topology: Topology) -> dict[str, dict[str, list[str]]]:
    """`path` between every two racks, by name. A host is one hop farther than there are routers."""
    racks = topology.racks
    return {one: {other: path(topology, one, other) for other in racks} for one in racks}


def _way_up(transfer_above: dict[str, Transfer], element: str) -> list[Transfer]:
    way = []
    while element != SPINE:
        way.append(transfer_above[element])
        element = transfer_above[element].cable.upper.element
    return way


def _leaves_first(topology: Topology) -> list[Transfer]:
    above = {transfer.cable.lower.element: transfer for transfer in transfers(topology)}
    return sorted(above.values(), key=lambda each: -len(_way_up(above, each.cable.lower.element)))
