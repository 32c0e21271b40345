"""The pairs of a probe run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from plink.formats import cluster as cluster_file
from plink.probes.samples import Wanted

NamedPairs = set[tuple[str, str]]


def all_pairs(hosts: int) -> Wanted:
    """Both directions of every pair of `hosts` hosts, by index."""
    return frozenset((i, j) for i in range(hosts) for j in range(hosts) if i != j)


def pairs_among(names: Sequence[str]) -> NamedPairs:
    """Both directions of every pair of these hosts, by name."""
    return {(a, b) for a in names for b in names if a != b}


def measured(path: Path) -> NamedPairs:
    """The directed pairs that have a round-trip time in a cluster file."""
    cluster = cluster_file.read_cluster(str(path))
    assert cluster.rtt is not None
    pairs = np.argwhere(~np.isnan(cluster.rtt.readings_us))
    return {(cluster.names[i], cluster.names[j]) for i, j in pairs}
