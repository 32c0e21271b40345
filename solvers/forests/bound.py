"""A time that no forest can beat."""

from __future__ import annotations

import numpy as np

from solvers.contention.network import Floats, Network
from solvers.forests.groups import with_every_host_grouped


def lower_bound_s(network: Network, size_bytes: float) -> float:
    """What links need at least for an allreduce among all hosts, latency left out.

    Each host sends its part of every chunk or the sum, and receives the sum or a part, so that its
    link carries the buffer once at least in either direction; in all N hosts exchange it 2 (N-1)
    times (Patarasuk and Yuan 2009). The same holds of groups as of hosts. So equal links of rate B
    take 2 S (1-1/N) / B, and equal uplinks of R groups 2 S (1-1/R) / B.
    """
    grouped = with_every_host_grouped(network)
    bounds = []
    for links, uplinks in (
        (grouped.send_bytes_s, grouped.uplink_send_bytes_s),
        (grouped.receive_bytes_s, grouped.uplink_receive_bytes_s),
    ):
        of_groups = np.minimum(uplinks, np.bincount(grouped.group_of, links))
        bounds += [_exchange_s(links, size_bytes), _exchange_s(of_groups, size_bytes)]
    return max(bounds)


def _exchange_s(rates: Floats, size_bytes: float) -> float:
    """For parties that exchange the buffer 2 (N-1) times in all, each of them once at least."""
    parties = len(rates)
    if parties == 1:
        return 0.0
    return size_bytes * max(float((1.0 / rates).max()), 2.0 * (parties - 1) / float(rates.sum()))
