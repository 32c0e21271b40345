"""Attribution of a collective's time to its causes: the slowest links, and latency.

The time is the sum that `plink.solvers.contention.time.TableTimer` adds up; here it is told apart
by what each part of it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Stages, split

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

LATENCY, HOSTS, UPLINKS = "latency", "hosts", "uplinks"

# Links whose time is this near to the slowest one's are limits as well.
_ALIKE = 0.9
# An uplink that is this near to the slowest host's link counts instead: it is shared.
_AS_SLOW = 0.98


@dataclass(frozen=True)
class Limit:
    """Links or latency that a collective waits for, with the seconds for which it does.

    Args:
        kind: `HOSTS` (links of hosts), `UPLINKS` (of groups) or `LATENCY`.
        seconds: in which it is what is waited for.
        sending, receiving: the hosts or groups of the slowest links, by direction.
    """

    kind: str
    seconds: float
    sending: Sequence[int] = ()
    receiving: Sequence[int] = ()


def find_limits_of_time(
    table: PeerTable, network: Network, order: Sequence[int] | npt.NDArray[np.intp]
) -> list[Limit]:
    """Split a collective's time into its causes, longest first, with rank r on host `order[r]`.

    The seconds sum up to the time of the collective. Where a host's link and an uplink are equally
    slow, it is the uplink that counts: it is shared.
    """
    hosts = np.asarray(order, dtype=np.intp)
    loads, waits = split(table)
    latency_s = sum(
        float(count) * _latency_s(waits.stage(number), network, hosts)
        for number, count in enumerate(waits.counts)
    )
    found = [Limit(LATENCY, latency_s)] if latency_s > 0.0 else []
    # By direction, how long each link is among the slowest.
    busy = {HOSTS: np.zeros((2, network.hosts)), UPLINKS: np.zeros((2, network.groups))}
    seconds = dict.fromkeys(busy, 0.0)
    for number, count in enumerate(loads.counts.tolist()):
        times = _link_times_s(loads.stage(number), network, hosts)
        slowest_s = max(float(each.max(initial=0.0)) for each in times.values())
        if slowest_s <= 0.0:
            continue
        is_uplink = times[UPLINKS].max(initial=0.0) >= _AS_SLOW * slowest_s
        kind = UPLINKS if is_uplink else HOSTS
        seconds[kind] += count * slowest_s
        busy[kind][times[kind] >= _ALIKE * slowest_s] += count * slowest_s
    for kind, total in busy.items():
        most_s = total.max(initial=0.0)
        if most_s > 0.0:
            ends = [np.flatnonzero(each >= _ALIKE * most_s).tolist() for each in total]
            found.append(Limit(kind, seconds[kind], *ends))
    return sorted(found, key=lambda limit: -limit.seconds)


def _latency_s(stage: Stages, network: Network, hosts: Indices) -> float:
    latencies_s = network.latency_s[hosts[stage.sources], hosts[stage.destinations]]
    return float(latencies_s.mean() if stage.goes_round[0] else latencies_s.max(initial=0.0))


def _link_times_s(stage: Stages, network: Network, hosts: Indices) -> dict[str, Floats]:
    """Return the seconds that links are busy in one stage, (2, N) of hosts and (2, G) of groups."""
    sources, destinations = hosts[stage.sources], hosts[stage.destinations]
    sizes_bytes = np.where(sources == destinations, 0.0, stage.sizes_bytes)
    group_from, group_to = network.group_of[sources], network.group_of[destinations]
    is_between = group_from != group_to

    def busy_s(places: Indices, rates_bytes_s: Floats) -> Floats:
        used = places >= 0
        return np.bincount(places[used], sizes_bytes[used], len(rates_bytes_s)) / rates_bytes_s

    ends = {HOSTS: (sources, destinations)}
    ends[UPLINKS] = np.where(is_between, group_from, -1), np.where(is_between, group_to, -1)
    rates = {
        HOSTS: (network.send_bytes_s, network.receive_bytes_s),
        UPLINKS: (network.uplink_send_bytes_s, network.uplink_receive_bytes_s),
    }
    return {kind: np.array(list(map(busy_s, ends[kind], rates[kind]))) for kind in ends}
