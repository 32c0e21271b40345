"""Which level of groups a plan of two levels is made on, where several were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plink.files.cluster import Cluster
from plink.files.groups import Group
from solvers.contention.network import Network


def levels_to_plan_on(cluster: Cluster, network: Network) -> list[Sequence[Group]]:
    """The groups of the file first, then other levels that may be quicker.

    Where no uplink is known, a prediction cannot tell levels apart, and those of the file stand.
    """
    groupings = [cluster.groups]
    grouping = cluster.grouping
    if grouping is None or not np.isfinite(network.uplink_send_bytes_s).any():
        return groupings
    known = {frozenset(frozenset(group.hosts) for group in cluster.groups)}
    for level in grouping.levels:
        hosts = frozenset(frozenset(group) for group in level)
        if len(level) > 1 and hosts not in known:
            known.add(hosts)
            groupings.append([Group(f"g{i}", group) for i, group in enumerate(level, start=1)])
    return groupings


def grouped_as(network: Network, names: Sequence[str], groups: Sequence[Group]) -> Network:
    """The network as a plan on these groups sees it: their uplinks are not known.

    Args:
        network: of hosts with these names.
        groups: of some of them.
    """
    place_of = {name: place for place, name in enumerate(names)}
    group_of = np.full(network.hosts, -1)
    for number, group in enumerate(groups):
        group_of[[place_of[host] for host in group.hosts]] = number
    unlimited = np.full(len(groups), np.inf)
    return replace(
        network,
        group_of=group_of,
        uplink_send_bytes_s=unlimited,
        uplink_receive_bytes_s=unlimited,
    )
