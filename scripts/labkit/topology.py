"""Where everything is: a shape with names and addresses, dealt by a seed.

Names and addresses are shuffled, each on its own, so that neither says anything about the rack.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Network

from labkit.addressing import deal
from labkit.errors import WrongUseError
from labkit.shape import Shape
from labkit.wan import WanPath

SPINE = "spine"
ROW = "row"


@dataclass(frozen=True)
class Switch:
    """A rack's or a row's switch. Its uplink leads to `parent` over `hops` extra switches.

    `uplink_rate_bits` is in bit/s, None for unshaped. `subnet` is that of a rack's hosts where the
    lab is routed, else None.
    """

    name: str
    parent: str
    uplink_rate_bits: int | None
    hops: int
    subnet: str | None = None


@dataclass(frozen=True)
class Host:
    """A host, its rack, and the rate of its link in bit/s (None for unshaped).

    `further` are the addresses of its other interfaces, each with a link of that rate.
    """

    name: str
    address: str
    rack: str
    rate_bits: int | None
    further: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of all its interfaces."""
        return (self.address, *self.further)


@dataclass(frozen=True)
class Topology:
    """The whole lab.

    Args:
        lab: the lab's name.
        seed: what names, addresses and the given order were shuffled by.
        subnet: of all hosts and of the machine, such as `10.140.3.0/24`; of all the routers and
            their subnets too, where the lab is routed.
        machine_address: of the machine that the lab runs on, in the subnet.
        switches: rows before racks; the spine is implied.
        hosts: in the given order, which is random with respect to racks.
        wan: the paths between racks that are regions; none in a data centre.
    """

    lab: str
    seed: int
    subnet: str
    machine_address: str
    switches: tuple[Switch, ...]
    hosts: tuple[Host, ...]
    wan: tuple[WanPath, ...] = ()

    def host(self, name: str) -> Host:
        """The host of that name.

        Raises:
            WrongUseError: there is no such host.
        """
        for host in self.hosts:
            if host.name == name:
                return host
        raise WrongUseError(
            f"lab {self.lab} has no host {name!r}",
            f"its hosts are {self.hosts[0].name} and {len(self.hosts) - 1} more: see lab status",
        )

    @property
    def racks(self) -> tuple[str, ...]:
        """The switches that hosts are plugged into."""
        names = (switch.name for switch in self.switches)
        return tuple(name for name in names if not name.startswith(ROW))

    @property
    def is_routed(self) -> bool:
        """Whether racks and rows are routers, and not bridges."""
        return any(switch.subnet is not None for switch in self.switches)

    def rack_subnet(self, rack: str) -> IPv4Network:
        """The subnet that the hosts of a rack are in."""
        (subnet,) = (switch.subnet for switch in self.switches if switch.name == rack)
        return IPv4Network(self.subnet if subnet is None else subnet)

    def with_rack(self, name: str, rack: str) -> Topology:
        """The same lab with a host in another rack.

        Raises:
            WrongUseError: there is no such host or rack, or the lab is routed.
        """
        if self.is_routed:
            raise WrongUseError(
                f"lab {self.lab} is routed, and a host's address belongs to its rack",
                "lab up without --routed",
            )
        if self.wan:
            raise WrongUseError(
                f"lab {self.lab} is a wide area, and a host stays in its region",
                "lab up without --regions",
            )
        if rack not in self.racks:
            raise WrongUseError(
                f"lab {self.lab} has no rack {rack!r}", f"its racks are {', '.join(self.racks)}"
            )
        return self._with_host(replace(self.host(name), rack=rack))

    def with_rate(self, name: str, rate_bits: int | None) -> Topology:
        """The same lab with another rate on the link of a host, or the uplink of a rack or row.

        Raises:
            WrongUseError: there is no such host, rack or row.
        """
        if any(switch.name == name for switch in self.switches):
            switches = (
                replace(switch, uplink_rate_bits=rate_bits) if switch.name == name else switch
                for switch in self.switches
            )
            return replace(self, switches=tuple(switches))
        return self._with_host(replace(self.host(name), rate_bits=rate_bits))

    def _with_host(self, changed: Host) -> Topology:
        hosts = (changed if host.name == changed.name else host for host in self.hosts)
        return replace(self, hosts=tuple(hosts))


def place(lab: str, shape: Shape, seed: int, subnet: IPv4Network) -> Topology:
    """Deal names, addresses and the given order to the hosts of a shape.

    Raises:
        WrongUseError: the shape gives interfaces to a host that there is not.
    """
    generator = random.Random(seed)
    count = shape.host_count
    width = max(2, len(str(count)))
    names = [f"n{number:0{width}}" for number in range(1, count + 1)]
    generator.shuffle(names)
    addresses = deal(shape, subnet, generator)
    racks = [
        (f"r{number}", rack.host_rate_bits)
        for number, rack in enumerate(shape.racks, start=1)
        for _ in range(rack.hosts)
    ]
    further = _further(shape, names, subnet)
    hosts = [
        Host(name, address, rack, rate_bits, further.get(name, ()))
        for name, address, (rack, rate_bits) in zip(names, addresses.hosts, racks, strict=True)
    ]
    generator.shuffle(hosts)
    return Topology(
        lab=lab,
        seed=seed,
        subnet=str(subnet),
        machine_address=addresses.machine,
        switches=_switches(shape, addresses.racks),
        hosts=tuple(hosts),
        wan=shape.wan,
    )


def _further(shape: Shape, names: Sequence[str], subnet: IPv4Network) -> dict[str, tuple[str, ...]]:
    """Addresses of interfaces beside the first, which follow those of all hosts."""
    found = {}
    first = 2 + shape.host_count
    for name, count in shape.ports:
        if name not in names:
            raise WrongUseError(
                f"there is no host {name!r} to have {count} interfaces",
                f"its hosts are {min(names)} to {max(names)}",
            )
        found[name] = tuple(str(subnet[first + number]) for number in range(count - 1))
        first += count - 1
    return found


def _switches(shape: Shape, subnets: Sequence[IPv4Network | None]) -> tuple[Switch, ...]:
    rows = [
        Switch(f"{ROW}{number}", SPINE, row.uplink_rate_bits, row.hops)
        for number, row in enumerate(shape.rows, start=1)
    ]
    racks = [
        Switch(
            f"r{number}",
            SPINE if rack.row is None else rows[rack.row].name,
            rack.uplink_rate_bits,
            rack.hops,
            None if subnet is None else str(subnet),
        )
        for number, (rack, subnet) in enumerate(zip(shape.racks, subnets, strict=True), start=1)
    ]
    return (*rows, *racks)
