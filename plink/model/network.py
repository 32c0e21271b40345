"""Network model of a cluster: measured link rates, and assumptions for unmeasured links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.text import bandwidth_text, format_count, format_names
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink
from plink.formats.hosts import Group
from plink.formats.limits import Amount, Text
from plink.formats.matrices import Matrix
from plink.formats.structs import Output
from plink.model.distance import Distances, distances, median_of_known
from plink.solvers.contention.network import Network, make_network

Vector = npt.NDArray[np.float64]

_BYTES_S_PER_GBIT_S = 1e9 / 8.0

# Transfers of a second over equal links differ by so much at most, mostly by far less.
_ALIKE = 0.25


class UplinkCapacity(Output, frozen=True):
    """Rates of a group's uplink, to and from all hosts outside the group.

    Attributes:
        group: name of the group
        send_gbit_s, receive_gbit_s: rates in Gbit/s; null if unknown
    """

    group: Text
    send_gbit_s: Amount | None
    receive_gbit_s: Amount | None


# What hosts' links are assumed to carry where nothing was measured: it decides from which size on
# bytes count more than rounds.
USUAL_LINK_GBIT_S = 10.0


@dataclass(frozen=True)
class Capacity:
    """Rates in Gbit/s of hosts' links and groups' uplinks, measured and as predictions assume them.

    Args:
        send_gbit_s, receive_gbit_s: (N,) of each host's link; NaN where unknown.
        uplinks: uplinks of each group.
        assumed_send_gbit_s, assumed_receive_gbit_s: (N,) what predictions and plans assume of
            the links: the same where they are known; infinite for unlimited.
        assumptions: what is assumed where something was not measured, a sentence each.
    """

    send_gbit_s: Vector
    receive_gbit_s: Vector
    uplinks: Sequence[UplinkCapacity]
    assumed_send_gbit_s: Vector
    assumed_receive_gbit_s: Vector
    assumptions: Sequence[str]


def capacity(
    cluster: Cluster, groups: Sequence[Group], *, unknown_gbit_s: float = np.inf
) -> Capacity:
    """Compute the rates in Gbit/s of a cluster's host links and of the given groups' uplinks.

    A host's link carries the most that any of its measured transfers did; where none was measured,
    what it did by itself when uplinks were measured (`links`), and in older files an even share of
    what the hosts of its group did (`hosts_gbit_s`). Links that differ from the median of their
    group by no more than such short transfers do count as equal to it. A link of which nothing is
    known is assumed to carry the median of the others: hosts are mostly alike, and an unlimited one
    would draw all masters of a plan to it. A group's
    uplink carries what was measured with all its hosts at once; where it was not, it is assumed to
    carry all that its hosts exchange, that is, to be unlimited.

    Args:
        cluster: hosts and what was measured.
        groups: groups of its hosts.
        unknown_gbit_s: what every host's link is assumed to carry where none is known.
    """
    measured = _measured_uplinks(cluster, groups)
    send, receive = _links(cluster, _places(cluster, groups), measured)
    assumptions: list[str] = []
    assumed_send, assumed_receive = _assume_missing_rates(
        send, receive, cluster.names, unknown_gbit_s, assumptions
    )
    _say_of_uplinks(groups, measured, assumptions)
    uplinks = []
    for group in groups:
        known = measured.get(group.name)
        rates = (None, None) if known is None else (known.send_gbit_s, known.receive_gbit_s)
        uplinks.append(UplinkCapacity(group.name, *rates))
    return Capacity(send, receive, uplinks, assumed_send, assumed_receive, assumptions)


@dataclass(frozen=True)
class KnownNetwork:
    """Network model of a cluster, with the assumptions it rests on.

    Args:
        network: host i is the cluster's host i, group j its group j.
        assumptions: what was assumed where something was not measured, a sentence each.
    """

    network: Network
    assumptions: Sequence[str]

    @property
    def has_rates(self) -> bool:
        """Whether any link rate is known; otherwise predicted times consist of latencies only."""
        network = self.network
        rates = (
            network.send_bytes_s,
            network.receive_bytes_s,
            network.uplink_send_bytes_s,
            network.uplink_receive_bytes_s,
        )
        return any(bool(np.isfinite(known).any()) for known in rates)


def build_network(
    cluster: Cluster, *, unknown_gbit_s: float = np.inf, found: Distances | None = None
) -> KnownNetwork:
    """Build the network model of a cluster, with the assumptions for what was not measured.

    A latency is half the round-trip time of the pair. What links carry is `capacity`'s to say.

    Args:
        cluster: hosts and what was measured.
        unknown_gbit_s: what every host's link is assumed to carry where none is known.
        found: its distances, where they are known.
    """
    assumptions: list[str] = []
    latency_s = _latency_s(cluster, found, assumptions)
    known = capacity(cluster, cluster.groups, unknown_gbit_s=unknown_gbit_s)
    group_of = np.full(len(cluster.hosts), -1)
    for number, places in enumerate(_places(cluster, cluster.groups).values()):
        group_of[places] = number
    uplink_send = np.array([uplink.send_gbit_s or np.inf for uplink in known.uplinks])
    uplink_receive = np.array([uplink.receive_gbit_s or np.inf for uplink in known.uplinks])
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


def _places(cluster: Cluster, groups: Sequence[Group]) -> dict[str, list[int]]:
    """Return the indices of the hosts of each group, by its name."""
    place_of = {name: place for place, name in enumerate(cluster.names)}
    return {group.name: [place_of[host] for host in group.hosts] for group in groups}


def _links(
    cluster: Cluster, places_of: dict[str, list[int]], measured: dict[str, Uplink]
) -> tuple[Vector, Vector]:
    """Return the send and receive rate of each host's link in Gbit/s; NaN where unknown."""
    # An even share of what its group's hosts reached together.
    shares = np.full(len(cluster.hosts), np.nan)
    for name, uplink in measured.items():
        if uplink.hosts_gbit_s:
            shares[places_of[name]] = uplink.hosts_gbit_s / len(places_of[name])
    own_rates = _own_links(cluster, places_of.values())
    send, receive = (np.where(np.isnan(own), shares, own) for own in own_rates)
    if cluster.bandwidth is not None:
        for rates, best in zip(
            (send, receive), _find_best_rates(cluster.bandwidth.gbit_s), strict=True
        ):
            is_known = best > 0.0
            rates[is_known] = best[is_known]
    return send, receive


def _find_best_rates(gbit_s: Matrix) -> tuple[Vector, Vector]:
    """Return each host's best send and receive rate in Gbit/s with any other host, (N,) each.

    0 where unknown.
    """
    sent, received = np.zeros(len(gbit_s)), np.zeros(len(gbit_s))
    for host, row in enumerate(gbit_s):
        to_others = np.fmax(row, 0.0)
        to_others[host] = 0.0
        sent[host] = to_others.max()
        np.maximum(received, to_others, out=received)
    return sent, received


def _own_links(cluster: Cluster, groups: Iterable[Sequence[int]]) -> tuple[Vector, Vector]:
    """Return hosts' measured send and receive rates in Gbit/s, (N,), evened out within groups."""
    if cluster.uplinks is None:
        return np.full(len(cluster.hosts), np.nan), np.full(len(cluster.hosts), np.nan)
    send, receive = cluster.uplinks.link_rates(cluster.names)
    for places in groups:
        for rates in (send, receive):
            known = rates[places][~np.isnan(rates[places])]
            if known.size:
                usual = median_of_known(known)
                is_usual = np.abs(rates[places] / usual - 1.0) <= _ALIKE
                rates[places] = np.where(is_usual, usual, rates[places])
    return send, receive


def _assume_missing_rates(
    send: Vector,
    receive: Vector,
    names: Sequence[str],
    unknown_gbit_s: float,
    assumptions: list[str],
) -> tuple[Vector, Vector]:
    # Where a link was measured in one direction only, the other is likely to carry as much.
    both = np.where(np.isnan(send), receive, send), np.where(np.isnan(receive), send, receive)
    unknown = np.flatnonzero(np.isnan(both[0])).tolist()
    if len(unknown) == len(names):
        is_limited = np.isfinite(unknown_gbit_s)
        assumed = f"{bandwidth_text(unknown_gbit_s)} each" if is_limited else "unlimited links"
        assumptions.append(f"no host's link was measured: assuming {assumed}")
        return np.full(len(names), unknown_gbit_s), np.full(len(names), unknown_gbit_s)
    if len(unknown):
        hosts = format_names([names[host] for host in unknown])
        assumptions.append(
            f"links not measured, assumed to carry the median of the others: {hosts}"
        )
    filled = [np.where(np.isnan(rates), median_of_known(rates), rates) for rates in both]
    return filled[0], filled[1]


def _measured_uplinks(cluster: Cluster, groups: Sequence[Group]) -> dict[str, Uplink]:
    """Return measured uplinks by the name of the given group that has the same hosts."""
    if cluster.uplinks is None:
        return {}
    by_name = {uplink.group: uplink for uplink in cluster.uplinks.uplinks}
    by_hosts = {
        frozenset(group.hosts): by_name[group.name]
        for group in cluster.groups
        if group.name in by_name
    }
    return {
        group.name: by_hosts[frozenset(group.hosts)]
        for group in groups
        if frozenset(group.hosts) in by_hosts
    }


def _say_of_uplinks(
    groups: Sequence[Group], measured: dict[str, Uplink], assumptions: list[str]
) -> None:
    if not groups:
        assumptions.append("no groups are known: assuming that no uplink is shared")
    unknown, at_least = [], []
    for group in groups:
        uplink = measured.get(group.name)
        if uplink is None or not uplink.is_whole:
            unknown.append(group.name)
        elif uplink.send_is_lower_bound or uplink.receive_is_lower_bound:
            at_least.append(group.name)
    if unknown:
        assumptions.append(
            f"uplinks not measured, assumed to be unlimited: {format_names(unknown)}"
        )
    if at_least:
        assumptions.append(
            "uplinks that may carry more than was measured, assumed to carry just that: "
            f"{format_names(at_least)}"
        )


def _latency_s(cluster: Cluster, found: Distances | None, assumptions: list[str]) -> Vector | None:
    try:
        found = found or distances(cluster)
    except WrongUseError:  # nothing was measured
        assumptions.append("no round-trip times are known: assuming zero latency")
        return None
    if found.filled_pairs:
        pairs = format_count(found.filled_pairs, "pair")
        assumptions.append(
            f"{pairs} without a round-trip time: assuming an estimate from other pairs"
        )
    return found.matrix_us * 0.5e-6
