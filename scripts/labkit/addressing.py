"""Which addresses the hosts, the racks and the machine get. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from ipaddress import IPv4Network

from labkit.shape import Shape

# Of a cable between two routers (RFC 3021).
TRANSFER_ADDRESSES = 2
# In a rack's subnet: the network's own address, the router's, the broadcast address.
RESERVED_ADDRESSES = 3


@dataclass(frozen=True)
class Addresses:
    """The addresses of a lab.

    Args:
        hosts: of each host, rack by rack.
        racks: of each rack its subnet; None where the lab is bridged and has one for all.
        machine: of the machine; in a routed lab, those of the cables between routers follow it.
    """

    hosts: list[str]
    racks: list[IPv4Network | None]
    machine: str


def addresses_needed(shape: Shape) -> int:
    """How many addresses the subnet of a lab must have."""
    if not shape.routed:
        return shape.host_count + shape.further_ports + RESERVED_ADDRESSES
    hops = [*(rack.hops for rack in shape.racks), *(row.hops for row in shape.rows)]
    cables = 1 + sum(extra + 1 for extra in hops)
    return len(shape.racks) * _rack_size(shape) + cables * TRANSFER_ADDRESSES


def deal(shape: Shape, subnet: IPv4Network, generator: random.Random) -> Addresses:
    """Deal the addresses of a subnet, so that a host's says nothing about its rack.

    In a routed lab it says which subnet the rack has, but not which rack that is.
    """
    if not shape.routed:
        hosts = [str(subnet[2 + number]) for number in range(shape.host_count)]
        generator.shuffle(hosts)
        return Addresses(hosts, [None] * len(shape.racks), str(subnet[1]))
    size = _rack_size(shape)
    length = 33 - size.bit_length()
    racks = [IPv4Network((subnet[number * size], length)) for number in range(len(shape.racks))]
    generator.shuffle(racks)
    hosts = []
    for rack, network in zip(shape.racks, racks, strict=True):
        own = [str(network[2 + number]) for number in range(rack.hosts)]
        generator.shuffle(own)
        hosts += own
    return Addresses(hosts, [*racks], str(subnet[len(racks) * size]))


def _rack_size(shape: Shape) -> int:
    """The size of every rack's subnet, a power of two: what the largest rack needs."""
    most = max(rack.hosts for rack in shape.racks) + RESERVED_ADDRESSES
    return int(1 << (most - 1).bit_length())
