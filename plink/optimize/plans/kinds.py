"""The kinds of plans, and the forest of each for a network."""

from __future__ import annotations

import numpy as np

from plink.plans.forest import Forest, make_forest
from solvers.contention.network import Floats, Network, with_every_host_grouped
from solvers.forests.inside_hosts import inside_hosts
from solvers.forests.kinds import double_tree, flat, ring, two_level
from solvers.forests.routes import Indices, Routes
from solvers.ring.ring_search import search_ring

KINDS = ("2lha", "flat", "ring", "tree")

_ORDER_TIME_LIMIT_S = 1.0


def refusal(kind: str, network: Network) -> str | None:
    """Why a network has no plan of that kind; None where it has one."""
    if kind != "2lha":
        return None
    if not (network.group_of >= 0).any():
        return "no groups of near hosts are known"
    if with_every_host_grouped(network).groups < 2:
        return "all hosts are in one group"
    return None


def build(kind: str, network: Network, order: list[int], host_of: Indices) -> Forest:
    """The forest over ranks.

    Args:
        kind: one of `KINDS` that the network does not refuse.
        network: the hosts and links.
        order: the hosts, near ones next to each other, for rings and trees.
        host_of: (P,) the host of each rank.

    Raises:
        ValueError: none of the kinds.
    """
    over_hosts = _over_hosts(kind, network, order)
    # With a rank on each host, hosts are ranks.
    is_one_each = len(host_of) == network.hosts
    routes = over_hosts if is_one_each else inside_hosts(over_hosts, host_of)
    return make_forest(*routes)


def near_order(network: Network, seed: int, distance: Floats | None = None) -> list[int]:
    """The hosts in a ring that leaves each group once, and is short within and between groups.

    It begins with a group's first host, so that trees over it hold groups together, too.

    Args:
        network: the hosts and links.
        seed: decides every choice by chance.
        distance: (N, N) symmetric between hosts, in any unit; None for the network's latencies.

    Raises:
        KeyboardInterrupt: the user ended the search.
    """
    if network.hosts < 3:
        return list(range(network.hosts))
    group_of = with_every_host_grouped(network).group_of
    if distance is None:
        distance = np.maximum(network.latency_s, network.latency_s.T) * 1e6
    crosses = (group_of[:, None] != group_of[None, :]).astype(np.float64)
    # One crossing more is dearer than all that distances can save.
    penalty = max(1.0, float(distance.max())) * network.hosts
    found = search_ring(distance + penalty * crosses, seed=seed, time_limit_s=_ORDER_TIME_LIMIT_S)
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    order = list(found.order)
    begins = np.flatnonzero(group_of[order] != group_of[np.roll(order, 1)])
    return order[begins[0] :] + order[: begins[0]] if len(begins) else order


def _over_hosts(kind: str, network: Network, order: list[int]) -> Routes:
    links = np.minimum(network.send_bytes_s, network.receive_bytes_s)
    if kind == "flat":
        return flat(links)
    if kind == "ring":
        return ring(order)
    if kind == "tree":
        return double_tree(order)
    if kind == "2lha":
        return _two_level(network, links)
    raise ValueError(f"there is no kind {kind!r}")


def _two_level(network: Network, links: Floats) -> Routes:
    grouped = with_every_host_grouped(network)
    uplinks = np.minimum(grouped.uplink_send_bytes_s, grouped.uplink_receive_bytes_s)
    return two_level(grouped.group_of, links, uplinks)
