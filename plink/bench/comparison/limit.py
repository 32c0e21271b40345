"""What a network lets an allreduce take at least, whoever does it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.contention.network import Network, make_network
from solvers.forests.time import lower_bound_s

# Where the two bounds are this near to each other, hosts' links are named.
_EQUAL = 1.001


@dataclass(frozen=True)
class Limit:
    """A lower bound.

    Args:
        time_s: of one allreduce, latency left out.
        by: whose links set it: `hosts` or `uplinks`.
    """

    time_s: float
    by: str


def limit_of(network: Network, size_bytes: int) -> Limit | None:
    """The bound of `solvers.forests.time`; None where nothing is known of what links carry.

    Args:
        network: where what is not known is unlimited.
        size_bytes: of each rank's buffer.
    """
    whole_s = lower_bound_s(network, size_bytes)
    if whole_s == 0.0:
        return None
    alone = make_network(
        network.hosts,
        send_bytes_s=network.send_bytes_s,
        receive_bytes_s=network.receive_bytes_s,
        group_of=network.group_of,
        uplink_send_bytes_s=np.full(network.groups, np.inf),
        uplink_receive_bytes_s=np.full(network.groups, np.inf),
    )
    is_by_uplinks = whole_s > _EQUAL * lower_bound_s(alone, size_bytes)
    return Limit(whole_s, "uplinks" if is_by_uplinks else "hosts")
