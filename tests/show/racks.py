"""Clusters whose truth is known: racks, noise, gaps and losses from a seed."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host
from plink.formats.matrices import Matrix
from plink.formats.measurements import Failure, RttMeasurement

NEAR_US, FAR_US = 22.0, 50.0


@dataclass(frozen=True)
class Racks:
    """A cluster, and the rack of every host."""

    cluster: Cluster
    rack: npt.NDArray[np.int64]

    @property
    def rtt(self) -> RttMeasurement:
        assert self.cluster.rtt is not None
        return self.cluster.rtt

    @property
    def readings_us(self) -> Matrix:
        return self.rtt.readings_us


def racks(count: int, hosts: int, seed: int = 1, missing: float = 0.0, lossy: float = 0.0) -> Racks:
    generator = np.random.default_rng(seed)
    size = count * hosts
    rack = generator.permutation(np.arange(size) // hosts)
    base = np.where(rack[:, None] == rack, NEAR_US, FAR_US)
    readings = np.round(base * (1 + np.abs(generator.normal(0, 0.02, (size, size)))), 3)
    gone = generator.random((size, size)) < missing
    readings[gone] = np.nan
    np.fill_diagonal(readings, np.nan)
    measured = np.isfinite(readings)
    lost = np.where(generator.random((size, size)) < lossy, 3, 0) * measured
    names = [f"gpu{i:02d}" for i in range(size)]
    failures = [
        Failure(names[i], "no echo in 1 s", names[j]) for i, j in np.argwhere(gone) if i != j
    ]
    measurement = RttMeasurement(
        rtt_us={10.0: readings, 99.0: readings * 2},
        reading=10.0,
        samples=np.where(measured, 1000, 0) - lost,
        losses=lost,
        tool="echo",
        options={"count": 1000},
        started="2026-01-02T03:04:05Z",
        seconds=12.34,
        failures=failures,
    )
    hosts_listed = [Host(name, f"10.0.0.{i + 1}") for i, name in enumerate(names)]
    return Racks(
        Cluster(hosts_listed, measurement, [Unreachable("gone", "connection refused")]), rack
    )
