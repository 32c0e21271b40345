"""What an earlier cluster file keeps when its hosts are not quite the same any more."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from plink.files.cluster import Cluster, Host
from plink.files.groups import UplinkMeasurement


def kept_cluster(hosts: Sequence[Host], earlier: Cluster | None, moved: Container[str]) -> Cluster:
    """A cluster of these hosts with all that an earlier one knows of them.

    Args:
        moved: names of hosts of which nothing is kept: they are at other addresses now. Their
            groups stay, without what is known of their uplinks.
    """
    if earlier is None:
        return Cluster(hosts)
    before = {name: index for index, name in enumerate(earlier.names) if name not in moved}
    places = [before.get(host.name) for host in hosts]
    names = {host.name for host in hosts}
    groups = [group for group in earlier.groups if names.issuperset(group.hosts)]
    are_same = not any(name in moved for name in names) and names.issuperset(earlier.names)
    return Cluster(
        hosts,
        rtt=None if earlier.rtt is None else earlier.rtt.for_hosts(places),
        bandwidth=None if earlier.bandwidth is None else earlier.bandwidth.for_hosts(places),
        routes=None if earlier.routes is None else earlier.routes.for_hosts(places),
        groups=groups,
        uplinks=_of_groups(
            earlier.uplinks,
            {group.name for group in groups if not any(name in moved for name in group.hosts)},
        ),
        grouping=earlier.grouping if are_same else None,
    )


def _of_groups(
    uplinks: UplinkMeasurement | None, names: Container[str]
) -> UplinkMeasurement | None:
    if uplinks is None:
        return None
    return replace(uplinks, uplinks=[known for known in uplinks.uplinks if known.group in names])
