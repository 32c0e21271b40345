"""The shape that the user asks for: number of racks and hosts, rates, hops. No names yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.errors import WrongUseError
from labkit.wan import WanPath, full_mesh

MAX_HOSTS = 1_000
MAX_RACKS = 256
MAX_HOPS = 64
MAX_PORTS = 32


@dataclass(frozen=True)
class RackShape:
    """A rack: its hosts, their links, its uplink, and the extra hops on its way up.

    Rates in bit/s, None for unshaped. `row` is an index into `Shape.rows`, None for the spine.
    """

    hosts: int
    host_rate_bits: int | None
    uplink_rate_bits: int | None
    hops: int
    row: int | None = None


@dataclass(frozen=True)
class RowShape:
    """A row of racks: its uplink to the spine in bit/s and the extra hops on its way up."""

    uplink_rate_bits: int | None
    hops: int


@dataclass(frozen=True)
class Shape:
    """Two levels (racks under the spine), or three (racks under rows under the spine).

    `routed`: the spine, rows, racks and the extra hops are routers, and not bridges.
    `wan`: the paths between racks that are regions, in place of a spine; none in a data centre.
    `ports`: hosts by name that have several interfaces, and how many, each with the rate of a
    host's link there.
    """

    racks: tuple[RackShape, ...]
    rows: tuple[RowShape, ...] = ()
    routed: bool = False
    wan: tuple[WanPath, ...] = ()
    ports: tuple[tuple[str, int], ...] = ()

    @property
    def further_ports(self) -> int:
        """How many interfaces hosts have beside the first."""
        return sum(count - 1 for _, count in self.ports)

    @property
    def host_count(self) -> int:
        """How many hosts there are in all racks."""
        return sum(rack.hosts for rack in self.racks)


def two_levels(
    rack_count: int | None,
    hosts: list[int],
    host_rate_bits: int | None,
    uplink_rate_bits: int | None,
    hops: int,
    *,
    routed: bool = False,
) -> Shape:
    """Racks under one spine. A single number of hosts counts for every rack, else one per rack.

    Raises:
        WrongUseError: the numbers contradict each other or are out of range.
    """
    if rack_count is not None and not 1 <= rack_count <= MAX_RACKS:
        raise WrongUseError(
            f"the number of racks must be between 1 and {MAX_RACKS}, not {rack_count}"
        )
    if len(hosts) == 1:
        hosts = hosts * (1 if rack_count is None else rack_count)
    elif rack_count is not None and rack_count != len(hosts):
        raise WrongUseError(
            f"--racks {rack_count} contradicts --hosts, which lists {len(hosts)} racks",
            "leave --racks out",
        )
    racks = tuple(RackShape(count, host_rate_bits, uplink_rate_bits, hops) for count in hosts)
    return check_shape(Shape(racks, routed=routed))


def regions(
    counts: list[int], host_rate_bits: int | None, uplink_rate_bits: int | None, **figures: Any
) -> Shape:
    """Regions with so many hosts each, and between every two of them a path of these figures.

    Raises:
        WrongUseError: a number or a figure is out of range.
    """
    racks = tuple(RackShape(count, host_rate_bits, uplink_rate_bits, 0) for count in counts)
    return check_shape(Shape(racks, wan=full_mesh(len(counts), **figures)))


def check_shape(shape: Shape) -> Shape:
    """The shape itself, if it can be built.

    Raises:
        WrongUseError: no rack, an empty rack, or more than the lab is made for.
    """
    if not 1 <= len(shape.racks) <= MAX_RACKS:
        raise WrongUseError(
            f"the number of racks must be between 1 and {MAX_RACKS}, not {len(shape.racks)}"
        )
    if any(rack.hosts < 1 for rack in shape.racks):
        raise WrongUseError("a rack needs at least one host")
    if shape.host_count > MAX_HOSTS:
        raise WrongUseError(
            f"the number of hosts must be at most {MAX_HOSTS}, not {shape.host_count}"
        )
    if shape.wan and (shape.routed or shape.rows):
        raise WrongUseError("regions have neither rows nor routers", "leave rows and routed out")
    hops = [rack.hops for rack in shape.racks] + [row.hops for row in shape.rows]
    if any(not 0 <= number <= MAX_HOPS for number in hops):
        raise WrongUseError(f"hops must be between 0 and {MAX_HOPS}")
    for name, count in shape.ports:
        if not 1 <= count <= MAX_PORTS:
            raise WrongUseError(f"{name} would have {count} interfaces, expected 1 to {MAX_PORTS}")
    if shape.ports and shape.routed:
        raise WrongUseError(
            "hosts of a routed lab have one interface", "leave out --ports or --routed"
        )
    return shape
