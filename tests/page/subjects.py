"""Subjects of reports whose truth is known."""

from __future__ import annotations

import numpy as np

from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement
from plink.formats.order import Order
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.show.page.subject import NamedOrder, Subject

NEAR_US, FAR_US = 20.0, 60.0
LINK_GBIT_S, SLOW_GBIT_S = 10.0, 1.0


def racks(sizes: list[int], seed: int = 1, names: list[str] | None = None) -> Cluster:
    """Hosts of racks in shuffled order, grouped as they stand; p10 and p99, nothing lost."""
    rng = np.random.default_rng(seed)
    rack = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    far = np.where(rack[:, None] == rack, NEAR_US, FAR_US)
    readings = far * rng.uniform(1.0, 1.02, far.shape)
    np.fill_diagonal(readings, np.nan)
    counts = np.isfinite(readings).astype(np.int64) * 100
    rtt = RttMeasurement(
        rtt_us={10.0: readings, 99.0: readings * 1.5},
        reading=10.0,
        samples=counts,
        losses=np.zeros_like(counts),
        tool="echo",
    )
    names = names or [f"h{host}" for host in range(len(rack))]
    groups = [
        Group(f"g{number}", [names[host] for host in np.flatnonzero(rack == number)])
        for number in range(len(sizes))
    ]
    hosts = [Host(name, f"10.0.0.{host + 1}") for host, name in enumerate(names)]
    return Cluster(hosts, rtt, groups=groups)


def with_rates(
    cluster: Cluster, slow: str | None = None, uplink_gbit_s: float | None = None
) -> Cluster:
    """The same with links of 10 Gbit/s, one host's of 1, and uplinks where they are given."""
    links = np.array([SLOW_GBIT_S if name == slow else LINK_GBIT_S for name in cluster.names])
    gbit_s = np.minimum(links[:, None], links[None, :])
    np.fill_diagonal(gbit_s, np.nan)
    unknown = np.full(gbit_s.shape, np.nan)
    found = replace(
        cluster, bandwidth=BandwidthMeasurement(gbit_s=gbit_s, retransmits=unknown, tool="iperf3")
    )
    if uplink_gbit_s is None:
        return found
    uplinks = [
        Uplink(group.name, uplink_gbit_s, uplink_gbit_s, LINK_GBIT_S * len(group.hosts))
        for group in cluster.groups
    ]
    return replace(found, uplinks=UplinkMeasurement(uplinks=uplinks, tool="uplinks"))


def without(cluster: Cluster, pairs: list[tuple[int, int]]) -> Cluster:
    """The same where these ordered pairs were not measured."""
    assert cluster.rtt is not None
    rtt_us = {percentile: matrix.copy() for percentile, matrix in cluster.rtt.rtt_us.items()}
    for matrix in rtt_us.values():
        for pair in pairs:
            matrix[pair] = np.nan
    return replace(cluster, rtt=replace(cluster.rtt, rtt_us=rtt_us))


def ordered(cluster: Cluster, algorithm: str = "ring") -> Order:
    """An order of its hosts, found in no time."""
    return find_order(cluster, OrderRequest(algorithm=algorithm, time_limit_s=0.2))


def subject(cluster: Cluster, *orders: Order) -> Subject:
    """What a report is about."""
    named = [NamedOrder(f"o{number}.json", order) for number, order in enumerate(orders)]
    return Subject(cluster, "c.json", named)
