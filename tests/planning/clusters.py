"""Cluster files of racks with uplinks, as `plink probe` and `plink group` leave them."""

from __future__ import annotations

import numpy as np

from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import RttMeasurement


def rack_cluster(
    sizes: list[int],
    *,
    uplink_gbit_s: float | None = 0.4,
    has_groups: bool = True,
    slots: int = 1,
    seed: int = 1,
) -> Cluster:
    """Racks of so many hosts, mixed: 22 µs in a rack, 43 beyond; hosts' links carry 0.4 Gbit/s.

    Args:
        sizes: of the racks.
        uplink_gbit_s: None for uplinks and links that were not measured.
        has_groups: whether the file knows the racks.
        slots: of every host.
        seed: mixes the hosts.
    """
    rack_of = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    hosts = len(rack_of)
    # Enough noise for groups to be found as in real readings.
    noise_us = np.random.default_rng(seed).uniform(0.0, 1.0, (hosts, hosts))
    rtt_us = np.where(rack_of[:, None] == rack_of[None, :], 22.0, 43.0) + noise_us
    np.fill_diagonal(rtt_us, np.nan)
    counts = np.zeros((hosts, hosts), dtype=np.int64)
    names = [f"n{number:02}" for number in range(hosts)]
    groups = [
        Group(f"r{rack}", [names[host] for host in np.flatnonzero(rack_of == rack)])
        for rack in range(len(sizes))
    ]
    uplinks = [
        Uplink(group.name, uplink_gbit_s, uplink_gbit_s, hosts_gbit_s=0.4 * len(group.hosts))
        for group in groups
    ]
    return Cluster(
        hosts=[
            Host(name, f"10.0.0.{number + 1}", slots=slots) for number, name in enumerate(names)
        ],
        rtt=RttMeasurement({10.0: rtt_us}, 10.0, counts, counts, tool="import"),
        groups=groups if has_groups else (),
        uplinks=UplinkMeasurement(uplinks=uplinks, tool="uplinks")
        if has_groups and uplink_gbit_s
        else None,
    )
