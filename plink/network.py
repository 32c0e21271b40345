"""From a cluster file to what the contention form of a cost needs to know of the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.distance import distances
from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.groups import Uplink
from plink.view.text import counted
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


def network_of(cluster: Cluster) -> KnownNetwork:
    """What a cluster file says of the network, and what had to be assumed.

    A latency is half the round-trip time of the pair. A host's link carries the most that any of
    its measured transfers did; where none was measured, an even share of what the hosts of its
    group can do by themselves (`hosts_gbit_s` of the uplinks). A group's uplink carries what was
    measured of it. What is not known is taken for unlimited.
    """
    assumptions: list[str] = []
    latency_s = _latency_s(cluster, assumptions)
    send, receive = _host_rates(cluster, assumptions)
    place_of = {name: place for place, name in enumerate(cluster.names)}
    group_of = np.full(len(cluster.hosts), -1)
    for number, group in enumerate(cluster.groups):
        group_of[[place_of[host] for host in group.hosts]] = number
    uplink_send, uplink_receive = _uplink_rates(cluster, assumptions)
    network = make_network(
        len(cluster.hosts),
        latency_s=latency_s,
        send_bytes_s=send * _BYTES_S_PER_GBIT_S,
        receive_bytes_s=receive * _BYTES_S_PER_GBIT_S,
        group_of=group_of,
        uplink_send_bytes_s=uplink_send * _BYTES_S_PER_GBIT_S,
        uplink_receive_bytes_s=uplink_receive * _BYTES_S_PER_GBIT_S,
    )
    return KnownNetwork(network, assumptions)


def _latency_s(cluster: Cluster, assumptions: list[str]) -> Rates | None:
    try:
        found = distances(cluster)
    except WrongUseError:  # nothing was measured
        assumptions.append("no round-trip times are known: latencies are taken for none")
        return None
    if found.filled_pairs:
        pairs = counted(found.filled_pairs, "pair")
        assumptions.append(f"{pairs} without a round-trip time: taken from what others suggest")
    return found.matrix_us / 2.0 * 1e-6


def _host_rates(cluster: Cluster, assumptions: list[str]) -> tuple[Rates, Rates]:
    """What each host's link sends and receives in Gbit/s; infinite where unknown."""
    shares = _shares_of_groups(cluster)
    send, receive = shares.copy(), shares.copy()
    if cluster.bandwidth is not None:
        gbit_s = np.where(cluster.bandwidth.gbit_s > 0.0, cluster.bandwidth.gbit_s, -np.inf)
        np.fill_diagonal(gbit_s, -np.inf)
        for rates, best in ((send, gbit_s.max(axis=1)), (receive, gbit_s.max(axis=0))):
            is_known = np.isfinite(best)
            rates[is_known] = best[is_known]
    unknown = np.flatnonzero(np.isinf(send) & np.isinf(receive))
    if len(unknown) == len(cluster.hosts):
        assumptions.append("no host's link is known: they are taken for unlimited")
    elif len(unknown):
        names = _some([cluster.names[host] for host in unknown])
        assumptions.append(f"links taken for unlimited, since not known: {names}")
    return send, receive


def _shares_of_groups(cluster: Cluster) -> Rates:
    """An even share of what the hosts of each host's group can do by themselves, in Gbit/s."""
    shares = np.full(len(cluster.hosts), np.inf)
    place_of = {name: place for place, name in enumerate(cluster.names)}
    uplinks = _uplinks(cluster)
    for group in cluster.groups:
        uplink = uplinks.get(group.name)
        if uplink is not None and uplink.hosts_gbit_s:
            places = [place_of[host] for host in group.hosts]
            shares[places] = uplink.hosts_gbit_s / len(places)
    return shares


def _uplink_rates(cluster: Cluster, assumptions: list[str]) -> tuple[Rates, Rates]:
    """What each group's uplink sends and receives in Gbit/s; infinite where unknown."""
    if not cluster.groups:
        assumptions.append("no groups are known: no uplink is taken to be shared")
        return np.empty(0), np.empty(0)
    uplinks = _uplinks(cluster)
    known = [uplinks.get(group.name) for group in cluster.groups]
    send = np.array([(uplink and uplink.send_gbit_s) or np.inf for uplink in known])
    receive = np.array([(uplink and uplink.receive_gbit_s) or np.inf for uplink in known])
    unknown, at_least = [], []
    for group, uplink in zip(cluster.groups, known, strict=True):
        if uplink is None or not uplink.is_whole:
            unknown.append(group.name)
        elif uplink.send_is_lower_bound or uplink.receive_is_lower_bound:
            at_least.append(group.name)
    if unknown:
        assumptions.append(f"uplinks taken for unlimited, since not known: {_some(unknown)}")
    if at_least:
        assumptions.append(
            f"uplinks that may carry more than they were seen to, taken as seen: {_some(at_least)}"
        )
    return send, receive


def _uplinks(cluster: Cluster) -> dict[str, Uplink]:
    measured = () if cluster.uplinks is None else cluster.uplinks.uplinks
    return {uplink.group: uplink for uplink in measured}


def _some(names: Sequence[str]) -> str:
    """The first few names."""
    shown = 5
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
