"""Networks in which every host has a group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solvers.contention.network import Network


def with_every_host_grouped(network: Network) -> Network:
    """The network without empty groups, and with a group for each host that has none.

    Such a group's uplink is unlimited, for its host's own link is what limits it.
    """
    outside = len(network.uplink_send_bytes_s)
    group_of = network.group_of.copy()
    alone = np.flatnonzero(group_of < 0)
    group_of[alone] = outside + np.arange(len(alone))
    kept, dense = np.unique(group_of, return_inverse=True)
    unlimited = np.full(len(alone), np.inf)
    return replace(
        network,
        group_of=dense.astype(np.intp),
        uplink_send_bytes_s=np.append(network.uplink_send_bytes_s, unlimited)[kept],
        uplink_receive_bytes_s=np.append(network.uplink_receive_bytes_s, unlimited)[kept],
    )
