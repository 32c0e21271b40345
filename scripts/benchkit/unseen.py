"""Labs whose shape is drawn, and how near to their truth a cluster file is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchkit.orders import TCP_SHARE
from plink.files.cluster import Cluster
from plink.files.groups import Uplink

_MOST_HOSTS = 20
_RACKS = (3, 6)
_HOSTS_OF_RACK = (2, 6)
_HOPS = (2, 5)
_HOST_MBIT = (200, 400)
# Of a host's rate, what an uplink carries.
_UPLINK_SHARES = (0.5, 1.0)


@dataclass(frozen=True)
class Unseen:
    """A lab: the hosts of each rack, switches on the way up, and what links carry, in Mbit/s."""

    hosts: Sequence[int]
    hops: int
    host_mbit: int
    uplink_mbit: int

    def options(self) -> list[str]:
        """What `lab up` takes."""
        return [
            *("--racks", str(len(self.hosts)), "--hosts", ",".join(map(str, self.hosts))),
            *("--hops", str(self.hops), "--host-rate", f"{self.host_mbit}mbit"),
            *("--uplink-rate", f"{self.uplink_mbit}mbit"),
        ]

    def __str__(self) -> str:
        """For a table."""
        hosts = ",".join(map(str, self.hosts))
        return f"{hosts}; {self.hops} hops; {self.host_mbit}/{self.uplink_mbit}"


def draw(seed: int) -> Unseen:
    """A lab of at most 20 hosts."""
    rng = np.random.default_rng(seed)
    racks = int(rng.integers(_RACKS[0], _RACKS[1] + 1))
    hosts = [_MOST_HOSTS]
    while sum(hosts) > _MOST_HOSTS or len(hosts) < racks:
        hosts = rng.integers(_HOSTS_OF_RACK[0], _HOSTS_OF_RACK[1] + 1, racks).tolist()
    host_mbit = int(rng.choice(_HOST_MBIT))
    share = float(rng.choice(_UPLINK_SHARES))
    hops = int(rng.integers(_HOPS[0], _HOPS[1] + 1))
    return Unseen(hosts, hops, host_mbit, round(share * host_mbit))


def agreement(cluster: Cluster, racks: Mapping[str, str]) -> float:
    """Adjusted mutual information of a cluster's groups and racks; who is in no group is alone."""
    from sklearn.metrics import adjusted_mutual_info_score  # noqa: PLC0415  takes a second

    group_of = {host: group.name for group in cluster.groups for host in group.hosts}
    found = [group_of.get(host, f"alone: {host}") for host in racks]
    return float(adjusted_mutual_info_score(list(racks.values()), found))


def uplinks_error(cluster: Cluster, racks: Mapping[str, str], lab: Unseen) -> float | None:
    """The largest relative error of what a group exchanges, either way; None without such figures.

    A group that is not a whole rack has no uplink of its own, and does not count.
    """
    true_hosts = {frozenset(h for h in racks if racks[h] == rack) for rack in racks.values()}
    hosts_of = {group.name: frozenset(group.hosts) for group in cluster.groups}
    known: Sequence[Uplink] = () if cluster.uplinks is None else cluster.uplinks.uplinks
    errors = []
    for uplink in known:
        hosts = hosts_of[uplink.group]
        true_mbit = min(lab.uplink_mbit, lab.host_mbit * len(hosts)) * TCP_SHARE
        if hosts in true_hosts:
            rates = (uplink.send_gbit_s, uplink.receive_gbit_s)
            errors += [abs(1e3 * rate / true_mbit - 1.0) for rate in rates if rate is not None]
    return max(errors, default=None)
