"""From a cluster file to what the contention form of a cost needs to know of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.text import counted
from plink.files.cluster import Cluster
from plink.model.capacity import Capacity, capacity
from plink.model.distance import distances
from solvers.contention.network import Network, make_network

Rates = npt.NDArray[np.float64]

_BYTES_S_PER_GBIT_S = 1e9 / 8.0


@dataclass(frozen=True)
class KnownNetwork:
    """A cluster's network.

    Args:
        network: host i is the cluster's host i, group j its group j.
        assumptions: what was assumed where something was not measured, a sentence each.
    """

    network: Network
    assumptions: Sequence[str]

    @property
    def has_rates(self) -> bool:
        """Whether anything is known of what links carry; else times are of latencies alone."""
        network = self.network
        rates = (
            network.send_bytes_s,
            network.receive_bytes_s,
            network.uplink_send_bytes_s,
            network.uplink_receive_bytes_s,
        )
        return any(bool(np.isfinite(known).any()) for known in rates)


def network_of(cluster: Cluster, *, unknown_gbit_s: float = np.inf) -> KnownNetwork:
    """What a cluster file says of the network, and what had to be assumed.

    A latency is half the round-trip time of the pair. What links carry, and are taken for where
    that is not known, is `plink.model.capacity`'s.

    Args:
        cluster: hosts and what was measured.
        unknown_gbit_s: what every host's link is taken for where none is known.
    """
    assumptions: list[str] = []
    latency_s = _latency_s(cluster, assumptions)
    known = capacity(cluster, cluster.groups, unknown_gbit_s=unknown_gbit_s)
    place_of = {name: place for place, name in enumerate(cluster.names)}
    group_of = np.full(len(cluster.hosts), -1)
    for number, group in enumerate(cluster.groups):
        group_of[[place_of[host] for host in group.hosts]] = number
    uplink_send, uplink_receive = _uplink_rates(known)
    network = make_network(
        len(cluster.hosts),
        latency_s=latency_s,
        send_bytes_s=known.assumed_send_gbit_s * _BYTES_S_PER_GBIT_S,
        receive_bytes_s=known.assumed_receive_gbit_s * _BYTES_S_PER_GBIT_S,
        group_of=group_of,
        uplink_send_bytes_s=uplink_send * _BYTES_S_PER_GBIT_S,
        uplink_receive_bytes_s=uplink_receive * _BYTES_S_PER_GBIT_S,
    )
    return KnownNetwork(network, [*assumptions, *known.assumptions])


def _latency_s(cluster: Cluster, assumptions: list[str]) -> Rates | None:
    try:
        found = distances(cluster)
    except WrongUseError:  # nothing was measured
        assumptions.append("no round-trip times are known: assuming zero latency")
        return None
    if found.filled_pairs:
        pairs = counted(found.filled_pairs, "pair")
        assumptions.append(f"{pairs} without a round-trip time: taken from what others suggest")
    return found.matrix_us / 2.0 * 1e-6


def _uplink_rates(known: Capacity) -> tuple[Rates, Rates]:
    """What each group's uplink sends and receives in Gbit/s; infinite where unknown."""
    send = np.array([uplink.send_gbit_s or np.inf for uplink in known.uplinks])
    receive = np.array([uplink.receive_gbit_s or np.inf for uplink in known.uplinks])
    return send, receive
