"""A topology as namespaces and cables. The two ends of a cable are shaped to the same rate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from labkit.topology import SPINE, Host, Switch, Topology

MAX_INTERFACE_NAME = 15
MAX_LAB_NAME = 12
# In the machine's own namespace an interface carries the lab's name; within a namespace of the lab
# it needs not.
MACHINE_INTERFACE_PREFIX = "pl-"
# The machine that the lab runs on takes part, in its own namespace.
MACHINE = "machine"
HOST_INTERFACE = "eth0"
BRIDGE = "br0"
UP_PORT = "uplink"


@dataclass(frozen=True)
class End:
    """One end of a cable: the host or switch it is plugged into, and the interface there."""

    element: str
    interface: str


@dataclass(frozen=True)
class Cable:
    """A cable between a lower and an upper end, its rate in bit/s at each end.

    A rack's way up is a chain of cables of which only the first and the last end are shaped.
    """

    lower: End
    upper: End
    lower_rate_bits: int | None
    upper_rate_bits: int | None


def namespace(lab: str, element: str) -> str:
    """The network namespace of a host or switch. Lab names have no dot, so none is ambiguous."""
    return f"plink.{lab}.{element}"


def machine_interface(lab: str) -> str:
    """The machine's own interface into the lab."""
    return MACHINE_INTERFACE_PREFIX + lab


def wan_bridges(topology: Topology) -> dict[str, tuple[str, str]]:
    """In a wide area, by port of the spine: its own bridge, and the delay box's port there.

    Regions come first, in their order; empty where there is an ordinary spine.
    """
    if not topology.wan:
        return {}
    return {port: (f"br-{port}", f"box-{port}") for port in (*topology.racks, MACHINE)}


def switch_elements(topology: Topology) -> list[str]:
    """Every bridge or router: the spine, rows, racks, and the extra hops on their ways up."""
    return [
        SPINE,
        *(name for switch in topology.switches for name in (switch.name, *_hops(switch))),
    ]


def elements(topology: Topology) -> list[str]:
    """Everything that has a namespace."""
    return [*switch_elements(topology), *(host.name for host in topology.hosts)]


def cables(topology: Topology) -> Iterator[Cable]:
    """Every cable of the lab, the machine's own included."""
    yield from trunks(topology)
    for host in topology.hosts:
        yield from host_cables(host)


def trunks(topology: Topology) -> Iterator[Cable]:
    """Every cable but the hosts' own: first the machine's to the spine, then the ways up."""
    yield Cable(End(MACHINE, machine_interface(topology.lab)), End(SPINE, MACHINE), None, None)
    for switch in topology.switches:
        yield from _way_up(switch)


def host_interface(number: int) -> str:
    """The name of a host's interface: `HOST_INTERFACE` is its first, 0."""
    return f"{HOST_INTERFACE[:-1]}{number}"


def host_cables(host: Host) -> list[Cable]:
    """The cables from a host to its rack's switch, an interface each."""
    rate_bits = host.rate_bits
    ports = [host.name, *(f"{host.name}-{number}" for number in range(1, len(host.addresses)))]
    return [
        Cable(End(host.name, host_interface(number)), End(host.rack, port), rate_bits, rate_bits)
        for number, port in enumerate(ports)
    ]


def shaped_ends(topology: Topology, element: str) -> list[End]:
    """Both ends of a host's cables, or of the uplink of a rack or row.

    Raises:
        WrongUseError: there is no such host, rack or row.
    """
    for switch in topology.switches:
        if switch.name == element:
            return [End(switch.name, UP_PORT), End(switch.parent, switch.name)]
    cables = host_cables(topology.host(element))
    return [end for cable in cables for end in (cable.lower, cable.upper)]


def hardware_address(address: str) -> str:
    """The MAC of the host with this IPv4 address: locally administered, its last 4 bytes the IP."""
    return "02:00:" + ":".join(f"{int(byte):02x}" for byte in address.split("."))


def _hops(switch: Switch) -> list[str]:
    return [f"{switch.name}-h{number}" for number in range(1, switch.hops + 1)]


def _way_up(switch: Switch) -> Iterator[Cable]:
    stations = [switch.name, *_hops(switch), switch.parent]
    last = len(stations) - 2
    for index, (lower, upper) in enumerate(itertools.pairwise(stations)):
        yield Cable(
            End(lower, UP_PORT),
            End(upper, switch.name),
            switch.uplink_rate_bits if index == 0 else None,
            switch.uplink_rate_bits if index == last else None,
        )
