"""Prediction of which links and latencies each collective algorithm waits for on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.formats.cluster import Cluster
from plink.formats.order import Order
from plink.model.network import KnownNetwork
from plink.optimize.orders.slots import (
    build_layout_like,
    build_peer_layout,
    index_placement,
)
from plink.solvers.collectives.registry import find
from plink.solvers.contention.limiting import Limit, find_limits_of_time

# More messages take seconds.
_MOST_MESSAGES = 1 << 19
_MOST_HOSTS = 2048


@dataclass(frozen=True)
class Limited:
    """Predicted seconds of an algorithm, split by the links and latencies that it waits for.

    Args:
        algorithm: its name.
        seconds: that it is predicted to take.
        limits: the longest first; indices are of the cluster's hosts and groups.
    """

    algorithm: str
    seconds: float
    limits: Sequence[Limit]


def find_limits(
    cluster: Cluster,
    network: KnownNetwork,
    algorithms: Sequence[str],
    size_bytes: int,
    order: Order | None = None,
) -> list[Limited]:
    """Predict, for each algorithm, its time and the links and latencies that it waits for.

    Args:
        cluster: the hosts.
        network: what the cluster says of the network (`plink.model.network.build_network`).
        algorithms: names.
        size_bytes: the buffer of each rank.
        order: order of the cluster's hosts; None for the cluster's own order.
    """
    if len(cluster.hosts) > _MOST_HOSTS:
        return []
    layout = build_layout_like(cluster, order)
    placed = (
        layout.placement(range(layout.hosts))
        if order is None
        else index_placement(cluster, order, "the order")
    )
    found = []
    for name in algorithms:
        algorithm = find(name)
        try:
            ranks = build_peer_layout(algorithm, layout).ranks
        except WrongUseError:  # it runs over hosts, which differ in slots
            continue
        if algorithm.refusal(ranks) is not None or algorithm.messages(ranks) > _MOST_MESSAGES:
            continue
        hosts = list(dict.fromkeys(placed)) if algorithm.is_over_hosts else placed
        parts = find_limits_of_time(algorithm.table(ranks, size_bytes), network.network, hosts)
        found.append(Limited(name, sum(part.seconds for part in parts), parts))
    return found
