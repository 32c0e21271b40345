"""Clusters for the tests of orders."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchkit import ring_instances
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement

Matrix = npt.NDArray[np.float64]


def cluster_of(matrix: Matrix, slots: int = 1) -> Cluster:
    """A cluster with these readings; NaN where not measured."""
    size = len(matrix)
    readings = np.array(matrix, dtype=np.float64)
    np.fill_diagonal(readings, np.nan)
    rtt = RttMeasurement(
        rtt_us={10.0: readings},
        reading=10.0,
        samples=np.isfinite(readings).astype(np.int64),
        losses=np.zeros((size, size), dtype=np.int64),
        tool="import",
    )
    hosts = [Host(name=f"h{i}", address=f"10.0.0.{i}", slots=slots) for i in range(size)]
    return Cluster(hosts=hosts, rtt=rtt)


def racks(sizes: list[int], seed: int = 1) -> tuple[Cluster, float]:
    """A cluster of racks, and what the cheapest ring costs in µs."""
    matrix, cost_us = ring_instances.racks(sizes, seed)
    return cluster_of(matrix), cost_us
