"""Data centres that are described in numbers: what SimGrid simulates, and what a probe would see.

The cluster holds what plink would measure of it without noise: round-trip times of all pairs, what
hosts' links carry, and the groups that share an uplink.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import RttMeasurement
from plink.simulate.simgrid.platforms import Dragonfly, FatTree, Platform, Zones

# With more hosts there is no matrix of all pairs, and so no order of plink's.
MOST_MEASURED = 2048
MAX_HOSTS = 65_536

Places = npt.NDArray[np.intp]

_BYTES_S_PER_GBIT_S = 1e9 / 8.0
_US = 1e6
_TOOL = "simulated"


@dataclass(frozen=True)
class DataCentre:
    """Described data centre.

    Args:
        text: in words.
        platform: the network.
        cluster: what plink would see of it; without measurements where there are too many hosts.
    """

    text: str
    platform: Platform
    cluster: Cluster


def racks(
    racks: int,
    hosts: int,
    *,
    rate_gbit_s: float,
    hop_us: float,
    oversubscription: float = 1.0,
    rows: int = 1,
    row_oversubscription: float = 1.0,
) -> DataCentre:
    """Racks of hosts, in rows where there are several.

    Args:
        racks: how many in all.
        hosts: in each.
        rate_gbit_s: of every host's link.
        hop_us: latency of every link, one way: two to a host of the rack, four to another rack.
        oversubscription: what a rack's hosts send over what its uplink carries.
        rows: how many rows the racks stand in.
        row_oversubscription: what the uplinks of a row's racks carry over what the row's does.

    Raises:
        WrongUseError: the racks do not fill the rows, or there are too many hosts.
    """
    _check(racks * hosts)
    if racks % rows:
        raise WrongUseError(f"{racks} racks do not fill {rows} rows evenly")
    rate, hop = rate_gbit_s * _BYTES_S_PER_GBIT_S, hop_us / _US
    has_rows = rows > 1
    uplink = rate * hosts / oversubscription
    row_uplink = uplink * (racks // rows) / row_oversubscription
    first_rack = 1 + (rows if has_rows else 0)
    row_of_rack = np.repeat(np.arange(rows), racks // rows)
    parent = [-1, *([0] * (first_rack - 1)), *(row_of_rack + 1 if has_rows else [0] * racks)]
    ups = np.array([np.inf, *([row_uplink] * (first_rack - 1)), *([uplink] * racks)])
    count = racks * hosts
    rack_of = np.repeat(np.arange(racks), hosts)
    platform = Zones(
        parent=np.array(parent, dtype=np.int32),
        up_bytes_s=ups,
        down_bytes_s=ups,
        latency_s=np.array([0.0, *([hop] * (len(parent) - 1))]),
        zone_of=(rack_of + first_rack).astype(np.int32),
        send_bytes_s=np.full(count, rate),
        receive_bytes_s=np.full(count, rate),
        host_latency_s=np.full(count, hop),
    )
    text = f"{racks} racks of {hosts} hosts"
    if has_rows:
        text += f" in {rows} rows"
    text += f", {rate_gbit_s:g} Gbit/s, uplinks {oversubscription:g}:1"
    if has_rows:
        text += f", of rows {row_oversubscription:g}:1"
    if count > MOST_MEASURED:
        return DataCentre(text, platform, _unmeasured_cluster(count, text))
    row_of = row_of_rack[rack_of]
    hops = np.where(
        rack_of[:, None] == rack_of, 2, np.where(row_of[:, None] == row_of, 4, 6 if has_rows else 4)
    )
    return DataCentre(text, platform, _measured_cluster(hops * hop, rack_of, uplink, rate, text))


def fat_tree(
    down: Sequence[int],
    up: Sequence[int],
    links: Sequence[int],
    *,
    rate_gbit_s: float,
    hop_us: float,
) -> DataCentre:
    """Return a fat tree; the hosts of one lowest switch are a group.

    Args:
        down, up, links: as `FatTree` has them.
        rate_gbit_s: of every link.
        hop_us: latency of every link, one way.

    Raises:
        WrongUseError: levels that do not fit each other, or too many hosts.
    """
    if not len(down) == len(up) == len(links) or not down:
        raise WrongUseError(
            "a fat tree has as many numbers of elements below, of switches above and of links",
            "16,8:1,4 is 8 switches of 16 hosts, each with links to 4 switches",
        )
    if min(*down, *up, *links) < 1 or up[0] != 1 or links[0] != 1:
        raise WrongUseError("a fat tree's numbers are 1 or more, and a host has one link")
    _check(math.prod(down))
    rate, hop = rate_gbit_s * _BYTES_S_PER_GBIT_S, hop_us / _US
    platform = FatTree(tuple(down), tuple(up), tuple(links), rate, hop)
    numbers = ":".join(",".join(map(str, part)) for part in (down, up, links))
    text = f"a fat tree {numbers} of {platform.hosts} hosts, {rate_gbit_s:g} Gbit/s"
    if platform.hosts > MOST_MEASURED:
        return DataCentre(text, platform, _unmeasured_cluster(platform.hosts, text))
    places = np.arange(platform.hosts)
    hops = np.full((platform.hosts, platform.hosts), 2 * len(down))
    below = 1
    for level, width in enumerate(down):
        below *= width
        same = places[:, None] // below == places // below
        hops = np.where(same & (hops > 2 * (level + 1)), 2 * (level + 1), hops)
    has_levels = len(down) > 1
    uplink = rate * up[1] * links[1] if has_levels else np.inf
    return DataCentre(
        text, platform, _measured_cluster(hops * hop, places // down[0], uplink, rate, text)
    )


def dragonfly(
    groups: int,
    chassis: int,
    routers: int,
    nodes: int,
    links: Sequence[int] = (1, 1, 1),
    *,
    rate_gbit_s: float,
    hop_us: float,
) -> DataCentre:
    """Return a dragonfly; its groups are what shares the links to others.

    Args:
        groups, chassis, routers, nodes: as `Dragonfly` has them.
        links: between groups, chassis and routers.
        rate_gbit_s: of every link.
        hop_us: latency of every link, one way.

    Raises:
        WrongUseError: too many hosts, or more links between groups than routers to hold them.
    """
    if min(groups, chassis, routers, nodes, *links) < 1 or len(links) != 3:
        raise WrongUseError(
            "a dragonfly's numbers are 1 or more, and its links three",
            "4,2,4,4:1,1,1 is 4 groups of 2 chassis of 4 routers of 4 hosts",
        )
    if groups > routers:
        raise WrongUseError(
            f"{groups} groups are more than the {routers} routers of a chassis",
            "SimGrid reaches group n through router n of a group's first chassis",
        )
    rate, hop = rate_gbit_s * _BYTES_S_PER_GBIT_S, hop_us / _US
    platform = Dragonfly(groups, links[0], chassis, links[1], routers, links[2], nodes, rate, hop)
    _check(platform.hosts)
    text = (
        f"a dragonfly of {groups} groups of {chassis} chassis of {routers} routers of {nodes} "
        f"hosts, {rate_gbit_s:g} Gbit/s"
    )
    if platform.hosts > MOST_MEASURED:
        return DataCentre(text, platform, _unmeasured_cluster(platform.hosts, text))
    router = np.arange(platform.hosts) // nodes
    blade, shelf = router % routers, router // routers % chassis
    group = router // (routers * chassis)
    return DataCentre(
        text,
        platform,
        _measured_cluster(
            _dragonfly_hops(router, blade, shelf, group) * hop,
            group,
            rate * links[0] * max(1, groups - 1),
            rate,
            text,
        ),
    )


def _dragonfly_hops(router: Places, blade: Places, shelf: Places, group: Places) -> Places:
    """Return (H, H) links from host (row) to host along SimGrid's minimal routes.

    To another group it goes to the router of that group's number, in the first chassis, over the
    groups' link to the router of its own group's number, and on from there.
    """
    own, there = group[:, None], group[None, :]
    leaves = own != there
    out = leaves * (1 + (blade[:, None] != there) + (shelf[:, None] != 0))
    turns = np.where(leaves, own, blade[:, None]) != blade[None, :]
    # Who goes to another blade is taken to be in the first chassis then.
    shelf_then = np.where(leaves | turns, 0, shelf[:, None])
    within = turns.astype(np.intp) + (shelf_then != shelf[None, :])
    hops: Places = 2 + np.where(router[:, None] == router, 0, out + within)
    return hops


def _check(hosts: int) -> None:
    if not 2 <= hosts <= MAX_HOSTS:
        raise WrongUseError(f"{hosts} hosts are not between 2 and {MAX_HOSTS:,}")


def _hosts(count: int) -> list[Host]:
    width = len(str(count - 1))
    return [
        Host(f"h{number:0{width}}", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
        for number in range(count)
    ]


def _unmeasured_cluster(count: int, text: str) -> Cluster:
    return Cluster(hosts=_hosts(count), source=text)


def _measured_cluster(
    latency_s: npt.NDArray[np.floating[Any]],
    group_of: npt.NDArray[np.intp],
    uplink_bytes_s: float,
    rate_bytes_s: float,
    text: str,
) -> Cluster:
    """Return the cluster that plink would measure without noise."""
    count = len(latency_s)
    hosts = _hosts(count)
    rtt_us = (latency_s + latency_s.T) * _US
    np.fill_diagonal(rtt_us, np.nan)
    is_pair = ~np.eye(count, dtype=bool)
    rtt = RttMeasurement(
        tool=_TOOL,
        rtt_us={10.0: rtt_us, 50.0: rtt_us, 99.0: rtt_us},
        reading=10.0,
        samples=is_pair.astype(np.int64),
        losses=np.zeros((count, count), dtype=np.int64),
    )
    rate = rate_bytes_s / _BYTES_S_PER_GBIT_S
    names = np.array([host.name for host in hosts])
    places = [np.flatnonzero(group_of == group) for group in np.unique(group_of)]
    groups = [Group(f"g{number}", names[place].tolist()) for number, place in enumerate(places)]
    uplinks = [
        Uplink(
            group.name,
            min(uplink_bytes_s / _BYTES_S_PER_GBIT_S, rate * len(group.hosts)),
            min(uplink_bytes_s / _BYTES_S_PER_GBIT_S, rate * len(group.hosts)),
            hosts_gbit_s=rate * len(group.hosts),
        )
        for group in groups
    ]
    links = [HostLink(host.name, rate, rate) for host in hosts]
    return Cluster(
        hosts=hosts,
        rtt=rtt,
        groups=groups,
        uplinks=UplinkMeasurement(tool=_TOOL, uplinks=uplinks, links=links),
        source=text,
    )
