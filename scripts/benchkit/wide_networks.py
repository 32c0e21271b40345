"""Wide areas drawn at random, and ring orders through them by two objectives."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchkit.labs import BenchLab
from benchkit.plans import TCP_SHARE
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement

Matrix = npt.NDArray[np.float64]
Order = tuple[int, ...]

_RATES_MBIT = (20, 120)
_RTTS_MS = (20, 120)


@dataclass(frozen=True)
class WideNetwork:
    """Regions of one host each.

    Args:
        rate_mbit: (N, N) of the path between two regions; the diagonal is infinite.
        rtt_ms: (N, N), of a round trip.
    """

    rate_mbit: Matrix
    rtt_ms: Matrix

    @property
    def regions(self) -> int:
        """How many."""
        return len(self.rate_mbit)

    def lab_file(self, loss: str) -> str:
        """For `lab up --topology`, as JSON."""
        paths = [
            {
                "between": [one + 1, other + 1],
                "rtt_ms": float(self.rtt_ms[one, other]),
                "wan_rate": f"{self.rate_mbit[one, other]:g}mbit",
            }
            for one, other in itertools.combinations(range(self.regions), 2)
        ]
        shape = {"regions": [1] * self.regions, "host_rate": "none", "loss": loss, "paths": paths}
        return json.dumps(shape)

    def bottleneck_mbit(self, order: Sequence[int]) -> float:
        """Of a ring: its slowest path."""
        return min(float(self.rate_mbit[hop]) for hop in _hops(order))

    def sum_s(self, order: Sequence[int]) -> float:
        """What an additive objective counts: a Gbit over each hop, one after the other."""
        return sum(1000.0 / float(self.rate_mbit[hop]) for hop in _hops(order))

    def ring_limit_s(self, order: Sequence[int], size_bytes: int) -> float:
        """What each host has to send, over the slowest path (Patarasuk and Yuan 2009)."""
        sent_mbit = 2 * (self.regions - 1) / self.regions * size_bytes * 8e-6
        return sent_mbit / self.bottleneck_mbit(order) / TCP_SHARE

    def ring_least_s(self, order: Sequence[int], size_bytes: int) -> float:
        """The same, and no way along the ring taken for nothing.

        What a host sends in its k-th turn, of 2 (N - 1), has come k hops before, and what it sends
        last has a hop before it: no order of sending and no size of chunks avoids that.
        """
        regions, least_s = self.regions, 0.0
        turns = 2 * (regions - 1)
        turn_mbit = size_bytes * 8e-6 / regions / TCP_SHARE
        hops = _hops(order)
        ways_s = [float(self.rtt_ms[hop]) / 2e3 for hop in hops]
        for place, hop in enumerate(hops):
            come_s = 0.0
            for turn in range(turns):
                sending_s = (turns - turn) * turn_mbit / float(self.rate_mbit[hop])
                least_s = max(least_s, come_s + sending_s + ways_s[place])
                come_s += ways_s[(place - turn - 1) % regions]
        return least_s

    def cluster(self, names: Sequence[str], addresses: Sequence[str]) -> Cluster:
        """As a probe of hosts without noise would find it, region by region."""
        gbit_s = np.where(np.isinf(self.rate_mbit), np.nan, self.rate_mbit / 1000 * TCP_SHARE)
        rtt_us = np.where(np.eye(self.regions, dtype=bool), np.nan, self.rtt_ms * 1000)
        none = np.zeros(gbit_s.shape, dtype=np.int64)
        rtt = RttMeasurement({10.0: rtt_us}, 10.0, none, none, tool="import")
        bandwidth = BandwidthMeasurement(gbit_s=gbit_s, retransmits=gbit_s * np.nan, tool="import")
        hosts = [Host(*each) for each in zip(names, addresses, strict=True)]
        return Cluster(hosts, rtt, bandwidth=bandwidth)


def draw_network(regions: int, seed: int) -> WideNetwork:
    """Rates of 20 to 120 Mbit/s, evenly by their logarithm, and round trips of 20 to 120 ms."""
    random = np.random.default_rng(seed)
    above = np.triu_indices(regions, 1)
    rate_mbit = np.full((regions, regions), np.inf)
    rtt_ms = np.zeros((regions, regions))
    low, high = np.log(_RATES_MBIT)
    rate_mbit[above] = np.round(np.exp(random.uniform(low, high, len(above[0]))))
    rtt_ms[above] = np.round(random.uniform(*_RTTS_MS, len(above[0])))
    return WideNetwork(np.minimum(rate_mbit, rate_mbit.T), np.maximum(rtt_ms, rtt_ms.T))


def equal(regions: int, rate_mbit: float, rtt_ms: float) -> WideNetwork:
    """All paths alike, so that no ring is better than another."""
    apart = ~np.eye(regions, dtype=bool)
    return WideNetwork(np.where(apart, rate_mbit, np.inf), np.where(apart, rtt_ms, 0.0))


def rings(regions: int) -> list[Order]:
    """Every ring once, from region 0 on."""
    rest = itertools.permutations(range(1, regions))
    return [(0, *order) for order in rest if order[0] <= order[-1]]


def least(network: WideNetwork, cost: Callable[[Order], Any]) -> Order:
    """The ring that costs least of all there are."""
    return min(rings(network.regions), key=cost)


def find_ring(lab: BenchLab, network: WideNetwork, objective: str) -> Order:
    """The ring of `plink order`."""
    names = lab.in_rack_order()
    cluster, order = lab.dir / "wide.json", lab.dir / f"order-{objective}.json"
    whole = network.cluster(names, [lab.addresses[name] for name in names])
    cluster_file.write_cluster(str(cluster), whole)
    # It ends as soon as it is proven; on busy processors that may be late.
    options = ("--algo", "ring", "--objective", objective, "--time-limit", 20, "-o", order)
    lab.plink("order", cluster, *options, over_ssh=False)
    found = json.loads(Path(order).read_text())["hosts"]
    return tuple(names.index(host["name"]) for host in found)


def _hops(order: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(order, [*order[1:], order[0]], strict=True))
