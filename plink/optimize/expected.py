"""What a fitted client is expected to take, as a time with an interval; or why nobody can say.

The contention form (`plink.optimize.prediction`) says what links allow. Here ranks go on by
themselves (`plink.solvers.contention.flows`), and the client's own costs are added.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from plink.base.text import counted
from plink.files.clients import ClientFit
from plink.files.cluster import Cluster
from plink.model.network import network_of
from plink.optimize.plans.traffic import Traffic, traffic_time_s
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.flows import Manner, flow_time_s
from plink.solvers.contention.network import Network
from plink.solvers.contention.shared_links import SharedLinks, Trunk, shared_links
from plink.solvers.contention.time import Clock
from plink.solvers.forests.time import forest_table
from plink.solvers.forests.trees import messages_on_the_way

# Of a normal distribution, to either side.
_Z_OF_90_PERCENT = 1.645

# Exchanges are serialised by chance: so many runs show how much that changes.
_RUNS = 15

# Following more messages takes too long.
_MOST_MESSAGES = 6000
_MESSAGES_OF_A_RING = 24

# Where waiting for a core shared with other ranks is more of a time than this, chance decides.
_MOST_OVERHEAD = 0.5

_GBIT_BYTES_S = 1e9 / 8.0


@dataclass(frozen=True)
class Expected:
    """A time.

    Args:
        seconds: the median.
        low_s, high_s: 90 % of all times are between them; all three None where nobody can say.
        refused: why, or None.
    """

    seconds: float | None
    low_s: float | None = None
    high_s: float | None = None
    refused: str | None = None


def client_of(algorithm: str, clients: Sequence[ClientFit]) -> ClientFit | None:
    """The fitted client that runs an algorithm, by the beginning of its name."""
    return next((fit for fit in clients if algorithm.startswith(f"{fit.client}-")), None)


class ExpectedTimes:
    """What one client takes on one cluster.

    Args:
        cluster: hosts, and what is known of their network.
        fit: of the client.
    """

    def __init__(self, cluster: Cluster, fit: ClientFit) -> None:
        self._cluster = cluster
        self.fit = fit

    @cached_property
    def network(self) -> Network:
        """What is known of the hosts' links."""
        return network_of(self._cluster).network

    @cached_property
    def _latency_s(self) -> list[list[float]]:
        found: list[list[float]] = self.network.latency_s.tolist()
        return found

    @cached_property
    def links(self) -> SharedLinks:
        """That flows cross."""
        facts = self._cluster.links
        place_of = {group.name: place for place, group in enumerate(self._cluster.groups)}
        trunks = [
            Trunk(
                tuple(place_of[name] for name in row.groups),
                (row.send_gbit_s or math.inf) * _GBIT_BYTES_S,
                (row.receive_gbit_s or math.inf) * _GBIT_BYTES_S,
            )
            for row in (() if facts is None else facts.rows)
            if set(row.groups) <= set(place_of)
        ]
        burst_bytes = 0 if facts is None else facts.burst_bytes
        share = self.fit.flow_share.value
        return shared_links(self.network, trunks, burst_bytes=burst_bytes, flow_share=share)

    def of_algorithm(
        self, algorithm: Algorithm, ranks: int, size_bytes: int, hosts: Sequence[int]
    ) -> Expected:
        """What an algorithm takes with rank r on host `hosts[r]`.

        Args:
            algorithm: one that takes so many ranks.
            ranks: how many.
            size_bytes: the buffer of each.
            hosts: (R,) of the ranks.
        """
        table = algorithm.table(ranks, size_bytes)
        messages = sum(len(step.sources) for step in table.rounds[:_MESSAGES_OF_A_RING])
        if messages > _MOST_MESSAGES:
            return Expected(None, refused=f"{algorithm.name} has too many messages to follow")
        runs_s = self.runs_s(table, hosts, _RUNS)
        overhead_s = self.fit.overhead_us.value * 1e-6
        if overhead_s and self.fit.shared_cores is not None:
            free_s = self.runs_s(table, hosts, 1, overhead_s=0.0)
        else:
            free_s = runs_s
        return self._expected(runs_s, statistics.median(free_s), size_bytes, hosts)

    def of_plan(self, traffic: Traffic, size_bytes: int, hosts: Sequence[int]) -> Expected:
        """What the engine takes for one call along a plan, with rank r on host `hosts[r]`."""
        free_s, whole_s = self.plan_s(traffic, hosts)
        return self._expected([whole_s], free_s, size_bytes, hosts)

    def runs_s(
        self,
        table: PeerTable,
        hosts: Sequence[int],
        runs: int,
        *,
        overhead_s: float | None = None,
    ) -> list[float]:
        """The times of some runs, which differ in what is serialised."""
        fit = self.fit
        each_s = fit.overhead_us.value * 1e-6 if overhead_s is None else overhead_s
        if table.is_pipelined:
            waits_s = Clock(table, _unlimited(self.network)).time_s(list(hosts))
            begun_s = each_s * len(table.rounds)
            return [self.links.carried_s(table, hosts) + waits_s + begun_s]
        manner = Manner(each_s, fit.reduction_s_per_gb.value * 1e-9, fit.serialised.value)
        return [
            flow_time_s(table, hosts, self._latency_s, self.links, manner=manner, seed=seed)
            for seed in range(runs if fit.serialised.value else 1)
        ]

    def plan_s(self, traffic: Traffic, hosts: Sequence[int]) -> tuple[float, float]:
        """The time along a plan without the client's overhead, and with it."""
        network = _scaled(self.network, self.fit.flow_share.value)
        free_s = traffic_time_s(traffic, hosts, network)
        if traffic.routes is None:
            messages = 1
        else:
            table = forest_table(traffic.routes, traffic.size_bytes)
            # What buckets save, and what rows' links cost.
            plain = shared_links(network)
            free_s += self.links.carried_s(table, hosts) - plain.carried_s(table, hosts)
            up, down = (
                parents.astype(np.intp)
                for parents in (traffic.routes.reduce_parents, traffic.routes.broadcast_parents)
            )
            messages = int(messages_on_the_way(up, down).max())
        return free_s, free_s + self.fit.overhead_us.value * 1e-6 * messages

    def _expected(
        self, runs_s: Sequence[float], free_s: float, size_bytes: int, hosts: Sequence[int]
    ) -> Expected:
        seconds = statistics.median(runs_s)
        cores = self.fit.shared_cores
        if cores is not None and len(hosts) > cores:
            if seconds - free_s > _MOST_OVERHEAD * seconds:
                ranks = counted(len(hosts), "rank")
                what = f"{ranks} share {counted(cores, 'core')}, and mostly wait for one"
                return Expected(None, refused=f"{what}: how long that takes cannot be predicted")
            if self.fit.processor_s_per_gb is not None:
                each_s = self.fit.processor_s_per_gb.value * size_bytes * 1e-9
                seconds = max(seconds, each_s * len(hosts) / cores)
        by_chance = np.log(np.maximum(runs_s, 1e-12)).std()
        spread = math.hypot(spread_at(self.fit, size_bytes), float(by_chance))
        reach = math.exp(_Z_OF_90_PERCENT * spread)
        return Expected(seconds, seconds / reach, seconds * reach)


def spread_at(fit: ClientFit, size_bytes: int) -> float:
    """The spread of times of that size: between those that are known, by their logarithms."""
    sizes = [math.log(max(1, each.size_bytes)) for each in fit.spreads]
    spreads = [each.spread for each in fit.spreads]
    return float(np.interp(math.log(max(1, size_bytes)), sizes, spreads))


def _unlimited(network: Network) -> Network:
    """The same latencies, and nothing else that takes time."""
    return replace(
        network,
        send_bytes_s=np.full(network.hosts, np.inf),
        receive_bytes_s=np.full(network.hosts, np.inf),
        uplink_send_bytes_s=np.full(network.groups, np.inf),
        uplink_receive_bytes_s=np.full(network.groups, np.inf),
    )


def _scaled(network: Network, share: float) -> Network:
    return replace(
        network,
        send_bytes_s=network.send_bytes_s * share,
        receive_bytes_s=network.receive_bytes_s * share,
        uplink_send_bytes_s=network.uplink_send_bytes_s * share,
        uplink_receive_bytes_s=network.uplink_receive_bytes_s * share,
    )
