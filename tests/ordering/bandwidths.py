"""Clusters of which bandwidths are known, and no times."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import BandwidthMeasurement


def bandwidths(gbit_s: npt.ArrayLike) -> Cluster:
    """A cluster with these bandwidths in Gbit/s; NaN where not measured."""
    matrix = np.array(gbit_s, dtype=np.float64)
    np.fill_diagonal(matrix, np.nan)
    measured = BandwidthMeasurement(gbit_s=matrix, retransmits=matrix * np.nan, tool="import")
    hosts = [Host(name=f"h{i}", address=f"10.0.0.{i}") for i in range(len(matrix))]
    return Cluster(hosts, bandwidth=measured)


def racks_by_bandwidth(hosts: int, racks: int, seed: int) -> tuple[Cluster, npt.NDArray[np.intp]]:
    """10 Gbit/s within racks and 4 between them, each 3 % off, and the rack of every host."""
    rng = np.random.default_rng(seed)
    rack_of = rng.permutation(np.arange(hosts) % racks)
    level = np.where(rack_of[:, None] == rack_of[None, :], 10.0, 4.0)
    return bandwidths(level * (1.0 + 0.03 * rng.standard_normal((hosts, hosts)))), rack_of
