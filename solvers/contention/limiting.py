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
    """Link or latency that a collective waits for, with its share of the time.

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
    """Return the causes of a collective's time, rank r on host `order[r]`, longest first.

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
    busy: dict[str, tuple[Floats, Floats]] = {
        HOSTS: (np.zeros(network.hosts), np.zeros(network.hosts)),
        UPLINKS: (np.zeros(network.groups), np.zeros(network.groups)),
    }
    seconds = dict.fromkeys(busy, 0.0)
    for number, count in enumerate(loads.counts.tolist()):
        times = _link_times_s(loads.stage(number), network, hosts)
        slowest_s = max(float(time.max(initial=0.0)) for both in times.values() for time in both)
        if slowest_s <= 0.0:
            continue
        kind = HOSTS
        if max(float(time.max(initial=0.0)) for time in times[UPLINKS]) >= _AS_SLOW * slowest_s:
            kind = UPLINKS
        seconds[kind] += count * slowest_s
        for total, time in zip(busy[kind], times[kind], strict=True):
            total[time >= _ALIKE * slowest_s] += count * slowest_s
    for kind, (sending, receiving) in busy.items():
        most_s = max(sending.max(initial=0.0), receiving.max(initial=0.0))
        if most_s > 0.0:
            ends = [
                np.flatnonzero(total >= _ALIKE * most_s).tolist() for total in (sending, receiving)
            ]
            found.append(Limit(kind, seconds[kind], *ends))
    return sorted(found, key=lambda limit: -limit.seconds)


def _latency_s(stage: Stages, network: Network, hosts: Indices) -> float:
    latencies_s = network.latency_s[hosts[stage.sources], hosts[stage.destinations]]
    return float(latencies_s.mean() if stage.goes_round[0] else latencies_s.max(initial=0.0))


def _link_times_s(
    stage: Stages, network: Network, hosts: Indices
) -> dict[str, tuple[Floats, Floats]]:
    """Return the seconds that each host's and group's link is busy in one stage."""
    sources, destinations = hosts[stage.sources], hosts[stage.destinations]
    sizes_bytes = np.where(sources == destinations, 0.0, stage.sizes_bytes)
    group_from, group_to = network.group_of[sources], network.group_of[destinations]
    is_between = group_from != group_to

    def busy_s(places: Indices, rates_bytes_s: Floats, is_used: npt.NDArray[np.bool_]) -> Floats:
        used = is_used & (places >= 0)
        return np.bincount(places[used], sizes_bytes[used], len(rates_bytes_s)) / rates_bytes_s

    every = np.ones(len(sources), dtype=np.bool_)
    return {
        HOSTS: (
            busy_s(sources, network.send_bytes_s, every),
            busy_s(destinations, network.receive_bytes_s, every),
        ),
        UPLINKS: (
            busy_s(group_from, network.uplink_send_bytes_s, is_between),
            busy_s(group_to, network.uplink_receive_bytes_s, is_between),
        ),
    }
