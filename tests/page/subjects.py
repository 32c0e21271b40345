"""Subjects of reports whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plink.files.cluster import Cluster, Host
from plink.files.groups import Group
from plink.files.order import Order
from plink.files.rtt import RttMeasurement
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.show.page.subject import NamedOrder, Subject

NEAR_US, FAR_US = 20.0, 60.0


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
    return find_order(cluster, OrderRequest(algorithm, time_limit_s=0.2))


def subject(cluster: Cluster, *orders: Order) -> Subject:
    """What a report is about."""
    named = [NamedOrder(f"o{number}.json", order) for number, order in enumerate(orders)]
    return Subject(cluster, "c.json", named)
