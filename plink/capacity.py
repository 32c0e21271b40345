"""What is known of the network's capacity: hosts' links, groups' uplinks, and what is assumed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.files.bandwidth import BandwidthMeasurement
from plink.files.cluster import Cluster
from plink.files.groups import Group, Uplink

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class UplinkCapacity:
    """What a group exchanges with all other hosts; None where nothing is known of it."""

    group: str
    send_gbit_s: float | None
    receive_gbit_s: float | None


@dataclass(frozen=True)
class Capacity:
    """What the links of a cluster carry.

    Args:
        send_gbit_s, receive_gbit_s: (N,) of each host's link; NaN where unknown.
        uplinks: of each group.
        assumptions: what is taken for granted where nothing was measured, a sentence each.
    """

    send_gbit_s: Vector
    receive_gbit_s: Vector
    uplinks: Sequence[UplinkCapacity]
    assumptions: Sequence[str]


def capacity(cluster: Cluster, groups: Sequence[Group]) -> Capacity:
    """The capacity of a cluster's links, for these groups.

    A host's link carries at least the most that any pair with it did. A group's uplink is what was
    measured with all its hosts at once; where it was not, nothing is made up, and what a plan will
    take it for is said.
    """
    size = len(cluster.hosts)
    unknown = np.full(size, np.nan)
    send, receive = (unknown, unknown) if cluster.bandwidth is None else _links(cluster.bandwidth)
    measured = _measured_uplinks(cluster, groups)
    uplinks = [_uplink(group, measured.get(group.name)) for group in groups]
    return Capacity(send, receive, uplinks, _assumptions(send, uplinks))


def _links(bandwidth: BandwidthMeasurement) -> tuple[Vector, Vector]:
    with warnings.catch_warnings():
        # A host without any measured pair has no maximum.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmax(bandwidth.gbit_s, axis=1), np.nanmax(bandwidth.gbit_s, axis=0)


def _measured_uplinks(cluster: Cluster, groups: Sequence[Group]) -> dict[str, Uplink]:
    """Measured uplinks, by the name of the group that has the same hosts now."""
    if cluster.uplinks is None:
        return {}
    by_name = {uplink.group: uplink for uplink in cluster.uplinks.uplinks}
    by_hosts = {
        frozenset(group.hosts): by_name[group.name]
        for group in cluster.groups
        if group.name in by_name
    }
    return {
        group.name: by_hosts[frozenset(group.hosts)]
        for group in groups
        if frozenset(group.hosts) in by_hosts
    }


def _uplink(group: Group, measured: Uplink | None) -> UplinkCapacity:
    if measured is None:
        return UplinkCapacity(group.name, None, None)
    return UplinkCapacity(group.name, measured.send_gbit_s, measured.receive_gbit_s)


def _assumptions(send: Vector, uplinks: Sequence[UplinkCapacity]) -> list[str]:
    said = []
    unknown = int(np.isnan(send).sum())
    if unknown == len(send):
        said.append("no bandwidth was measured: hosts' links are assumed to be equal")
    elif unknown:
        said.append(
            f"the links of {unknown} of {len(send)} hosts were not measured: assumed to carry "
            "what the median link does"
        )
    bare = sum(uplink.send_gbit_s is None or uplink.receive_gbit_s is None for uplink in uplinks)
    if bare:
        which = "no uplink was" if bare == len(uplinks) else f"{bare} uplinks were not"
        said.append(f"{which} measured: assumed to carry all that the group's hosts send at once")
    return said
