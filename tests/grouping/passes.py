"""Clusters that several passes have measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement


def passed(
    sizes: Sequence[int], *, noise: float = 0.02, far: float = 1.5, seed: int = 1, passes: int = 3
) -> tuple[Cluster, list[int]]:
    """Racks of so many hosts, and each host's rack; noise only adds, in each half by itself."""
    rng = np.random.default_rng(seed)
    rack = np.repeat(np.arange(len(sizes)), sizes)
    true_us = np.where(rack[:, None] == rack[None, :], 20.0, 20.0 * far)
    odd, even = (true_us * (1.0 + rng.exponential(noise, true_us.shape)) for _ in range(2))
    for half in (odd, even):
        np.fill_diagonal(half, np.nan)
    readings = np.fmin(odd, even)
    counts = np.where(np.isnan(readings), 0, passes).astype(np.int64)
    rtt = RttMeasurement(
        tool="echo",
        rtt_us={10.0: readings},
        reading=10.0,
        samples=100 * counts,
        losses=0 * counts,
        passes=counts,
        halves_us=(odd, even),
        seconds=6.0,
    )
    hosts = [Host(f"h{i}", f"10.0.0.{i}") for i in range(len(rack))]
    return Cluster(hosts, rtt), rack.tolist()
