"""Networks that SimGrid simulates: zones with uplinks in each other, fat trees, dragonflies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plink.solvers.contention.network import Network

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Zones:
    """Hosts in zones, which are in zones; what leaves a zone goes over its uplink.

    A zone has either hosts or zones.

    Args:
        parent: (Z,) the zone around each, which stands before it; -1 for the first.
        up_bytes_s, down_bytes_s: (Z,) what each zone's uplink carries; infinite where unlimited.
        latency_s: (Z,) of each uplink, one way.
        zone_of: (H,) of each host.
        send_bytes_s, receive_bytes_s: (H,) of each host's link.
        host_latency_s: (H,) of each host's link, one way.
        between_s: (H, H) one way between hosts, in place of the sums of those; None for the sums.
    """

    parent: Indices
    up_bytes_s: Floats
    down_bytes_s: Floats
    latency_s: Floats
    zone_of: Indices
    send_bytes_s: Floats
    receive_bytes_s: Floats
    host_latency_s: Floats
    between_s: npt.NDArray[np.float32] | None = None

    @property
    def hosts(self) -> int:
        """How many there are."""
        return len(self.zone_of)


@dataclass(frozen=True)
class RowLink:
    """Groups that share a link further up.

    Args:
        groups: by their number.
        send_bytes_s, receive_bytes_s: of that link; infinite where unlimited.
    """

    groups: Sequence[int]
    send_bytes_s: float
    receive_bytes_s: float


@dataclass(frozen=True)
class FatTree:
    """A fat tree with static routes, as SimGrid has it (Zahavi 2012: D-mod-k).

    Args:
        down: of each level's switches, from the lowest, how many elements are below.
        up: how many switches of each level an element below it has links to.
        links: how many to each.
        rate_bytes_s: of every link, either direction.
        hop_s: the latency of every link.
    """

    down: tuple[int, ...]
    up: tuple[int, ...]
    links: tuple[int, ...]
    rate_bytes_s: float
    hop_s: float

    @property
    def hosts(self) -> int:
        """How many there are."""
        return math.prod(self.down)


@dataclass(frozen=True)
class Dragonfly:
    """A dragonfly with minimal routes (Kim, Dally, Scott and Abts 2008).

    Args:
        groups, group_links: how many groups, and how many links between two of them.
        chassis, chassis_links: of each group, and between two routers of the same place in them.
        routers, router_links: of each chassis, and between two of them.
        nodes: hosts of each router.
        rate_bytes_s: of one link, either direction.
        hop_s: the latency of every link.
    """

    groups: int
    group_links: int
    chassis: int
    chassis_links: int
    routers: int
    router_links: int
    nodes: int
    rate_bytes_s: float
    hop_s: float

    @property
    def hosts(self) -> int:
        """How many there are."""
        return self.groups * self.chassis * self.routers * self.nodes


Platform: TypeAlias = Zones | FatTree | Dragonfly


def platform_of(network: Network, rows: Sequence[RowLink] = ()) -> Zones:
    """Return the platform of a network of hosts in groups, as predictions have it.

    Args:
        network: the hosts, their groups, and what links carry.
        rows: of groups, which share a link.
    """
    groups = network.groups
    # Hosts without a group share a zone whose uplink is no limit.
    alone = network.group_of < 0
    others = [np.inf] * int(alone.any())
    first = 1 + len(rows)
    row_of = np.zeros(groups + len(others), dtype=np.int32)
    for number, row in enumerate(rows):
        row_of[list(row.groups)] = 1 + number
    return Zones(
        parent=np.array([-1, *([0] * len(rows)), *row_of], dtype=np.int32),
        up_bytes_s=np.array(
            [np.inf, *(row.send_bytes_s for row in rows), *network.uplink_send_bytes_s, *others]
        ),
        down_bytes_s=np.array(
            [
                np.inf,
                *(row.receive_bytes_s for row in rows),
                *network.uplink_receive_bytes_s,
                *others,
            ]
        ),
        latency_s=np.zeros(first + groups + len(others)),
        zone_of=(np.where(alone, groups, network.group_of) + first).astype(np.int32),
        send_bytes_s=network.send_bytes_s,
        receive_bytes_s=network.receive_bytes_s,
        host_latency_s=np.zeros(network.hosts),
        between_s=network.latency_s.astype(np.float32),
    )
