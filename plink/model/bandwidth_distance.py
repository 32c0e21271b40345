"""From bandwidths as measured to how long a bit takes between hosts: distances without times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.measurement import Matrix

# Less than a bit a second is a transfer that failed.
_LEAST_GBIT_S = 1e-9


@dataclass(frozen=True)
class BandwidthDistances:
    """Symmetric dissimilarities between all hosts, by bandwidth alone.

    Args:
        s_per_gbit: (N, N) how long a Gbit takes, zero diagonal, no gaps.
        is_filled: (N, N) pairs that were measured in neither direction.
        unmeasured_hosts: names of the hosts without any measurement.
    """

    s_per_gbit: Matrix
    is_filled: npt.NDArray[np.bool_]
    unmeasured_hosts: Sequence[str]

    @property
    def filled_pairs(self) -> int:
        """How many unordered pairs were not measured."""
        return int(self.is_filled.sum()) // 2


def has_bandwidth(cluster: Cluster) -> bool:
    """Whether any bandwidth between two hosts is known."""
    between = ~np.eye(len(cluster.hosts), dtype=bool)
    return bool(np.isfinite(bandwidth_distances(cluster)[between]).any())


def has_only_bandwidth(cluster: Cluster) -> bool:
    """Whether bandwidths are known, and no round-trip time."""
    between = ~np.eye(len(cluster.hosts), dtype=bool)
    has_times = cluster.rtt is not None and np.isfinite(cluster.rtt.readings_us[between]).any()
    return not has_times and has_bandwidth(cluster)


def bandwidth_distances(cluster: Cluster) -> Matrix:
    """How long a Gbit takes between two hosts, in seconds, by the slower of the two directions.

    Returns:
        (N, N) in s a Gbit, symmetric, zero diagonal; the direction that was measured where only one
        was, NaN where neither was. A transfer that carried nothing counts as not measured.
    """
    size = len(cluster.hosts)
    if cluster.bandwidth is None:
        gbit_s = np.full((size, size), np.nan)
    else:
        measured = cluster.bandwidth.gbit_s
        gbit_s = np.where(measured >= _LEAST_GBIT_S, measured, np.nan)
    distances: Matrix = 1.0 / np.fmin(gbit_s, gbit_s.T)
    np.fill_diagonal(distances, 0.0)
    return distances


def filled_bandwidth_distances(cluster: Cluster) -> BandwidthDistances:
    """The same without gaps: a pair that was not measured is taken for the slowest that was.

    A transfer between them may well have failed, and no order should rest on them.

    Raises:
        WrongUseError: two or more hosts, and nothing was measured between them.
    """
    distances = bandwidth_distances(cluster)
    size = len(distances)
    if size > 1 and not has_bandwidth(cluster):
        raise WrongUseError(
            "the cluster file holds no bandwidth between its hosts",
            "plink probe --tool iperf3 measures them, plink import takes other programs' figures",
        )
    is_filled = np.isnan(distances)
    alone = np.flatnonzero((is_filled.sum(axis=1) == size - 1) & (size > 1))
    filled = np.where(is_filled, np.nanmax(distances), distances)
    return BandwidthDistances(filled, is_filled, [cluster.names[host] for host in alone])
