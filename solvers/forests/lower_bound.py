"""Lower bound on the link time of a collective over all algorithms, without latency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from plink.solvers.contention.network import Network, with_every_host_grouped
from plink.solvers.forests.trees import Floats, Indices


@dataclass(frozen=True)
class ExchangedBytes:
    """Least bytes that K parties (hosts or groups of hosts) must exchange in a collective.

    Args:
        sent_bytes, received_bytes: (K,) by each.
        total_bytes: sent, and so received, by all together; at least the sum of either.
    """

    sent_bytes: Floats
    received_bytes: Floats
    total_bytes: float


# Of (N,) the party of each host, 0 to K-1: what the parties exchange.
LeastExchange = Callable[[Indices], ExchangedBytes]


def allreduce_exchange(size_bytes: float) -> LeastExchange:
    """Return a function from hosts' parties (N,) to each party's least bytes sent and received.

    It is for an all-reduce of `size_bytes` among the parties, such as racks or hosts.

    Each party sends its part of every chunk or the sum, and receives the sum or a part: the buffer
    once at least in either direction; K of them exchange it 2 (K-1) times (Patarasuk and Yuan
    2009).
    """

    def least(party_of: Indices) -> ExchangedBytes:
        parties = int(party_of.max()) + 1
        once = np.full(parties, size_bytes if parties > 1 else 0.0)
        return ExchangedBytes(once, once, 2 * (parties - 1) * size_bytes)

    return least


def lower_bound_s(network: Network, least: LeastExchange) -> float:
    """Return a lower bound on a collective's seconds: its least bytes over links and uplinks."""
    grouped = with_every_host_grouped(network)
    hosts = least(np.arange(network.hosts))
    groups = least(grouped.group_of)
    bounds = []
    for links, uplinks, is_sent in (
        (grouped.send_bytes_s, grouped.uplink_send_bytes_s, True),
        (grouped.receive_bytes_s, grouped.uplink_receive_bytes_s, False),
    ):
        of_groups = np.minimum(uplinks, np.bincount(grouped.group_of, links))
        bounds += [_exchange_s(hosts, links, is_sent), _exchange_s(groups, of_groups, is_sent)]
    return max(bounds)


def _exchange_s(exchange: ExchangedBytes, rates: Floats, is_sent: bool) -> float:
    if len(rates) == 1:
        return 0.0
    own = exchange.sent_bytes if is_sent else exchange.received_bytes
    return max(float((own / rates).max()), exchange.total_bytes / float(rates.sum()))
