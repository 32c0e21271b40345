"""Networks of racks, and what forests put on their links."""

from __future__ import annotations

import numpy as np

from plink.plans.forest import Forest, make_forest
from plink.plans.measures import bytes_between
from plink.solvers.contention.network import Network, make_network
from plink.solvers.forests.time import RoutesTimer, chunk_bytes, deal_chunks
from plink.solvers.forests.trees import Routes


def racks(sizes: list[int], *, host: float = 1.0, uplink: float = 1.0, latency: float = 0.0):
    """Hosts rack after rack, with equal links, uplinks and latencies."""
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    hosts = len(group_of)
    return make_network(
        hosts,
        latency_s=latency * (1.0 - np.eye(hosts)),
        send_bytes_s=host,
        receive_bytes_s=host,
        group_of=group_of,
        uplink_send_bytes_s=uplink,
        uplink_receive_bytes_s=uplink,
    )


def forest_of(routes: Routes) -> Forest:
    return make_forest(*routes)


def busiest_link(routes: Routes, network: Network) -> float:
    """The time of the link that takes longest for a buffer of one byte, link by link."""
    between = bytes_between(forest_of(routes), 1.0)
    times = [0.0]
    for host in range(network.hosts):
        times.append(between[host].sum() / network.send_bytes_s[host])
        times.append(between[:, host].sum() / network.receive_bytes_s[host])
    for group in range(network.groups):
        inside = network.group_of == group
        times.append(between[inside][:, ~inside].sum() / network.uplink_send_bytes_s[group])
        times.append(between[~inside][:, inside].sum() / network.uplink_receive_bytes_s[group])
    return float(max(times))


def time_s(forest, host_of, network: Network, size_bytes: float) -> float:
    """The time of one allreduce along a forest whose rank r is on host `host_of[r]`."""
    used = deal_chunks(forest, size_bytes)
    chunk = min(chunk_bytes(size_bytes, len(used.weights)), size_bytes)
    chunks = np.full(len(used.weights), chunk)
    return RoutesTimer(used, host_of, network, size_bytes, chunks).time_s()
