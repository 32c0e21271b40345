"""Evidence for a diagnosis: clusters (now, earlier), a tuned job's log, bench comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from plink.autotune.log.history import History
from plink.formats.cluster import Cluster
from plink.formats.comparison import Comparison
from plink.formats.groups import HostLink
from plink.formats.matrices import Matrix
from plink.model.estimating import estimate_round_trips
from plink.probes.condition import HostCondition

Indices = npt.NDArray[np.intp]
Value = TypeVar("Value")

# So much of a host's bandwidths is taken as what its link carries: its best ones.
_BEST_SHARE = 0.25


@dataclass(frozen=True)
class Evidence:
    """Measurements on which a diagnosis is based: clusters, a tuned job and comparisons.

    Args:
        cluster: as it is now.
        before: the same hosts, or some of them, when all was well; None where that is not known.
        tuned: a tuned job's run.
        comparison, comparison_before: what a bench found, now and when all was well.
        asked_at: when the hosts were asked, to the second; None where nobody asked them.
    """

    cluster: Cluster
    before: Cluster | None = None
    tuned: History | None = None
    comparison: Comparison | None = None
    comparison_before: Comparison | None = None
    asked_at: datetime | None = None

    @cached_property
    def names(self) -> list[str]:
        """Names of the cluster's hosts."""
        return self.cluster.names

    @cached_property
    def group_by_host(self) -> Indices:
        """Number of each host's group, (N,); a host in no group has a number of its own."""
        groups = self.cluster.groups
        if not groups:
            return np.zeros(len(self.names), dtype=np.intp)
        place = {name: number for number, each in enumerate(groups) for name in each.hosts}
        return np.array([place.get(n, len(groups) + i) for i, n in enumerate(self.names)], np.intp)

    def list_hosts(self, group: str) -> list[str]:
        """Return the names of a group's hosts, by the group's name."""
        return next(list(each.hosts) for each in self.cluster.groups if each.name == group)

    def members(self, group: int) -> Indices:
        """Return the indices of a group's hosts, by the group's number."""
        return np.flatnonzero(self.group_by_host == group)

    @cached_property
    def conditions(self) -> Mapping[str, HostCondition]:
        """Network condition that each host reported, by host name; others are left out."""
        said = self.cluster.conditions
        return {} if said is None else {each.host: each.condition for each in said.hosts}

    def reported(self, value_of: Callable[[HostCondition], Value | None]) -> dict[str, Value]:
        """Return one value of each host's condition, by host name, where it is reported."""
        values = {host: value_of(each) for host, each in self.conditions.items()}
        return {host: value for host, value in values.items() if value is not None}

    @cached_property
    def links(self) -> Sequence[HostLink]:
        """Link rates in Gbit/s of the hosts for which any is known."""
        return list_links(self.cluster)


def list_links(cluster: Cluster) -> list[HostLink]:
    """Return the hosts' link rates: as measured with uplinks, else from their best bandwidths."""
    if cluster.uplinks is not None and cluster.uplinks.links:
        known = set(cluster.names)
        return [link for link in cluster.uplinks.links if link.host in known]
    if cluster.bandwidth is None:
        return []
    rates = cluster.bandwidth.gbit_s
    sends, receives = _compute_best(rates), _compute_best(rates.T)
    return [
        HostLink(name, send, receive)
        for name, send, receive in zip(cluster.names, sends, receives, strict=True)
        if send is not None or receive is not None
    ]


def _compute_best(gbit_s: Matrix) -> list[float | None]:
    """Return the median of the best quarter of each host's rates in Gbit/s; None without any."""
    found: list[float | None] = []
    for row in gbit_s:
        known = np.sort(row[np.isfinite(row) & (row > 0.0)])
        count = max(1, int(_BEST_SHARE * known.size))
        found.append(float(np.median(known[-count:])) if known.size else None)
    return found


def round_trips(cluster: Cluster) -> Matrix:
    """Return estimates of the measured round-trip times in µs, (N, N); NaN where not measured.

    Without groups, the lesser of both directions. Groups are found anew: a change may well be that
    hosts are in other ones than the file says.
    """
    if cluster.rtt is None:
        return np.full((len(cluster.hosts),) * 2, np.nan)
    least = symmetric(cluster.rtt.readings_us)
    estimate = estimate_round_trips(cluster, uses_known_groups=False)
    return least if estimate is None else np.where(np.isnan(least), np.nan, estimate.distance)


def symmetric(matrix: Matrix) -> Matrix:
    """Return the lesser of both directions of each pair, (N, N); NaN if neither is known."""
    least: Matrix = np.fmin(matrix, matrix.T)
    np.fill_diagonal(least, np.nan)
    return least
