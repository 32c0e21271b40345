"""Cluster files of racks, as a user has them after probing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import RttMeasurement


def rack_cluster(racks: int, hosts: int, *, slots: int = 1, has_uplinks: bool = True) -> Cluster:
    """Racks of as many hosts in turn: 20 µs in a rack, 50 beyond; every link carries 0.4 Gbit/s."""
    size = racks * hosts
    rack_of = np.arange(size) % racks
    rtt_us = np.where(rack_of[:, None] == rack_of[None, :], 20.0, 50.0)
    np.fill_diagonal(rtt_us, np.nan)
    counts = np.zeros((size, size), dtype=np.int64)
    names = [f"h{number:03}" for number in range(size)]
    groups = [
        Group(f"r{rack}", [name for name, of in zip(names, rack_of, strict=True) if of == rack])
        for rack in range(racks)
    ]
    uplinks = [Uplink(group.name, 0.4, 0.4, hosts_gbit_s=0.4 * hosts) for group in groups]
    return Cluster(
        hosts=[
            Host(name, f"10.0.{number // 250}.{number % 250 + 1}", slots=slots)
            for number, name in enumerate(names)
        ],
        rtt=RttMeasurement({10.0: rtt_us}, 10.0, counts, counts, tool="import"),
        groups=groups if has_uplinks else (),
        uplinks=UplinkMeasurement(uplinks=uplinks, tool="uplinks") if has_uplinks else None,
    )


def write(path: Path, cluster: Cluster) -> Path:
    """The cluster as a file."""
    cluster_file.write_cluster(str(path), cluster)
    return path
