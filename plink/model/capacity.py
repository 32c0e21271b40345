"""What the links of a cluster carry: as measured, and what is taken for granted beyond that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.text import bandwidth_text
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
        assumed_send_gbit_s, assumed_receive_gbit_s: (N,) what predictions and plans take the links
            for: the same where they are known; infinite for unlimited.
        assumptions: what is taken for granted where something was not measured, a sentence each.
    """

    send_gbit_s: Vector
    receive_gbit_s: Vector
    uplinks: Sequence[UplinkCapacity]
    assumed_send_gbit_s: Vector
    assumed_receive_gbit_s: Vector
    assumptions: Sequence[str]


def capacity(
    cluster: Cluster, groups: Sequence[Group], *, unknown_gbit_s: float = np.inf
) -> Capacity:
    """The capacity of a cluster's links, for these groups.

    A host's link carries the most that any of its measured transfers did; where none was measured,
    an even share of what the hosts of its group can do by themselves (`hosts_gbit_s` of the
    uplinks). A link of which nothing is known is taken for the median of the others: hosts are
    mostly alike, and an unlimited one would draw all masters of a plan to it. A group's uplink is
    what was measured with all its hosts at once; where it was not, it is taken to carry all that
    its hosts exchange, that is, for unlimited.

    Args:
        cluster: hosts and what was measured.
        groups: of them.
        unknown_gbit_s: what every host's link is taken for where none is known.
    """
    measured = _measured_uplinks(cluster, groups)
    send, receive = _links(cluster, groups, measured)
    assumptions: list[str] = []
    assumed_send, assumed_receive = _assumed(
        send, receive, cluster.names, unknown_gbit_s, assumptions
    )
    _say_of_uplinks(groups, measured, assumptions)
    return Capacity(
        send,
        receive,
        [_uplink(group, measured.get(group.name)) for group in groups],
        assumed_send,
        assumed_receive,
        assumptions,
    )


def _links(
    cluster: Cluster, groups: Sequence[Group], measured: dict[str, Uplink]
) -> tuple[Vector, Vector]:
    """What each host's link sends and receives; NaN where unknown."""
    send = _shares_of_groups(cluster, groups, measured)
    receive = send.copy()
    if cluster.bandwidth is not None:
        gbit_s = np.where(cluster.bandwidth.gbit_s > 0.0, cluster.bandwidth.gbit_s, -np.inf)
        np.fill_diagonal(gbit_s, -np.inf)
        for rates, best in ((send, gbit_s.max(axis=1)), (receive, gbit_s.max(axis=0))):
            is_known = np.isfinite(best)
            rates[is_known] = best[is_known]
    return send, receive


def _shares_of_groups(
    cluster: Cluster, groups: Sequence[Group], measured: dict[str, Uplink]
) -> Vector:
    """An even share of what the hosts of each host's group can do by themselves."""
    shares = np.full(len(cluster.hosts), np.nan)
    place_of = {name: place for place, name in enumerate(cluster.names)}
    for group in groups:
        uplink = measured.get(group.name)
        if uplink is not None and uplink.hosts_gbit_s:
            places = [place_of[host] for host in group.hosts]
            shares[places] = uplink.hosts_gbit_s / len(places)
    return shares


def _assumed(
    send: Vector,
    receive: Vector,
    names: Sequence[str],
    unknown_gbit_s: float,
    assumptions: list[str],
) -> tuple[Vector, Vector]:
    # Of a link that was measured in one direction only, the other is likely to carry as much.
    both = np.where(np.isnan(send), receive, send), np.where(np.isnan(receive), send, receive)
    unknown = np.flatnonzero(np.isnan(both[0])).tolist()
    if len(unknown) == len(names):
        taken = bandwidth_text(unknown_gbit_s) if np.isfinite(unknown_gbit_s) else "unlimited"
        assumptions.append(f"no host's link is known: they are taken for {taken}")
        return np.full(len(names), unknown_gbit_s), np.full(len(names), unknown_gbit_s)
    if len(unknown):
        hosts = _some([names[host] for host in unknown])
        assumptions.append(f"links not known, taken for the median of the others: {hosts}")
    filled = [np.where(np.isnan(rates), np.nanmedian(rates), rates) for rates in both]
    return filled[0], filled[1]


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


def _say_of_uplinks(
    groups: Sequence[Group], measured: dict[str, Uplink], assumptions: list[str]
) -> None:
    if not groups:
        assumptions.append("no groups are known: no uplink is taken to be shared")
    unknown, at_least = [], []
    for group in groups:
        uplink = measured.get(group.name)
        if uplink is None or not uplink.is_whole:
            unknown.append(group.name)
        elif uplink.send_is_lower_bound or uplink.receive_is_lower_bound:
            at_least.append(group.name)
    if unknown:
        assumptions.append(f"uplinks taken for unlimited, since not known: {_some(unknown)}")
    if at_least:
        assumptions.append(
            f"uplinks that may carry more than they were seen to, taken as seen: {_some(at_least)}"
        )


def _some(names: Sequence[str]) -> str:
    """The first few names."""
    shown = 5
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
