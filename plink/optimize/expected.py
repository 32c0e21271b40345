"""Prediction of a communication library's collective times, from its fitted software costs.

The contention form (`plink.optimize.prediction`) says what links allow. Here ranks go on by
themselves (`plink.solvers.contention.flows`), and the client's own costs are added.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats.clients import ClientFit
from plink.formats.cluster import Cluster
from plink.formats.limits import Amount, Text
from plink.formats.structs import Output
from plink.model.network import build_network
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.flows import (
    FlowClock,
    SharedLinks,
    SoftwareCosts,
    Trunk,
    shared_links,
)
from plink.solvers.contention.network import Network, scale_rates
from plink.solvers.contention.time import TableTimer

# Of a normal distribution, to either side.
_Z_OF_90_PERCENT = 1.645

# Exchanges are serialised by chance, and ranks share a core with others by chance: so many runs
# show how much that changes.
_RUNS = 15

# How sure it is for how long sockets send while a rank waits for its turn (standard deviation of
# its logarithm): fits on few hosts do not show it.
_KEPT_SPREAD = 0.2

# What the model of turns misses besides: they are not as regular as it has them.
_TURNS_SPREAD = 0.09

# What each doubling of the largest size that was measured adds to the spread, and at most.
_DOUBLING_SPREAD = 0.025
_MOST_BEYOND = 0.1

# A time whose interval is wider to either side says nothing.
_MOST_SPREAD = 0.4

# Following more messages takes too long.
_MOST_MESSAGES = 6000
_MESSAGES_OF_A_RING = 24

# Where waiting for a core shared with other ranks may be more of a time than this, chance decides.
_MOST_OVERHEAD = 0.5

# What a rank that is ready waits, each round, while another has the core: a slice of Linux's
# scheduler is some milliseconds.
_SLICE_S = 3e-3

_GBIT_BYTES_S = 1e9 / 8.0


class Expected(Output, frozen=True):
    """Predicted time of a library's collective, with its 90 % interval, or why there is none.

    Attributes:
        seconds: median time, in s
        low_s, high_s: ends of the interval that 90 % of times are in, in s
        refused: why no prediction is possible
    """

    seconds: Amount | None
    low_s: Amount | None = None
    high_s: Amount | None = None
    refused: Text | None = None


def find_client(algorithm: str, clients: Sequence[ClientFit]) -> ClientFit | None:
    """Return the fitted costs of an algorithm's library, by its name's prefix; None if missing."""
    return next((fit for fit in clients if algorithm.startswith(f"{fit.client}-")), None)


class ExpectedTimes:
    """Predictor of the times of one communication library's collectives on one cluster.

    Args:
        cluster: hosts, and what is known of their network.
        fit: fit of the client.
        network: what is known of the hosts' links, where it was made before.
    """

    def __init__(self, cluster: Cluster, fit: ClientFit, network: Network | None = None) -> None:
        self._cluster = cluster
        self.fit = fit
        self.network = network or build_network(cluster).network

    @cached_property
    def links(self) -> SharedLinks:
        """Rates and bursts of the cluster's network links, which concurrent flows share."""
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
        burst_bytes: float = 0 if facts is None else facts.burst_bytes
        if not burst_bytes and self.fit.burst_bytes is not None:
            burst_bytes = self.fit.burst_bytes.value
        share = self.fit.flow_share.value
        return shared_links(self.network, trunks, burst_bytes=burst_bytes, flow_share=share)

    def of_algorithm(
        self, algorithm: Algorithm, ranks: int, size_bytes: int, hosts: Sequence[int]
    ) -> Expected:
        """Predict an algorithm's time, or say why none is possible; rank r is on `hosts[r]`."""
        table = algorithm.table(ranks, size_bytes)
        messages = sum(len(step.sources) for step in table.rounds[:_MESSAGES_OF_A_RING])
        if messages > _MOST_MESSAGES:
            return Expected(None, refused=f"{algorithm.name} has too many messages to follow")
        if table.is_pipelined:
            free_s = self.pipelined_s(table, hosts, is_free=True)
            whole_s = [self.pipelined_s(table, hosts)]
            return self.estimate(whole_s, free_s, size_bytes, hosts, rounds=len(table.rounds))
        clock = FlowClock(table, hosts, self.network.latency_s, self.links)
        runs_s = self.runs_s(clock, _RUNS)
        free = replace(self.software_costs, overhead_s=0.0, rendezvous_s=0.0)
        free_s = statistics.median(clock.time_s(free, seed) for seed in range(len(runs_s)))
        return self.estimate(runs_s, free_s, size_bytes, hosts, rounds=len(table.rounds))

    @cached_property
    def software_costs(self) -> SoftwareCosts:
        """Fitted software costs of the library in seconds, as input of the flow simulation."""
        fit = self.fit
        return SoftwareCosts(
            fit.overhead_us.value * 1e-6,
            fit.rendezvous_us.value * 1e-6,
            fit.reduction_s_per_gb.value * 1e-9,
            fit.serialised.value,
            *((fit.turn_us.value * 1e-6, fit.shared_cores or 0) if fit.turn_us else ()),
        )

    def takes_turns(self, ranks: int) -> bool:
        """Return whether so many ranks busy-wait on fewer cores and share them by time slices."""
        return self.software_costs.slice_s > 0.0 and 0 < self.software_costs.cores < ranks

    def runs_s(self, clock: FlowClock, runs: int) -> list[float]:
        """Return simulated seconds of a collective, one a seed; one in all if nothing is random."""
        takes_turns = self.takes_turns(clock.ranks)
        is_by_chance = takes_turns or (clock.has_exchanges and self.software_costs.serialised > 0.0)
        seeds = range(runs if is_by_chance else 1)
        drawn = [self._draw_costs(seed) if takes_turns else self.software_costs for seed in seeds]
        return [
            clock.time_s(costs, seed, self.links) for costs, seed in zip(drawn, seeds, strict=True)
        ]

    def _draw_costs(self, seed: int) -> SoftwareCosts:
        """Return the library's software costs with a time slice drawn from its fitted interval."""
        turn_us = self.fit.turn_us
        if turn_us is None:
            return self.software_costs
        chance = random.Random(seed)
        ends = math.log(max(turn_us.high, 1e-3) / max(turn_us.low, 1e-3))
        slice_spread = ends / (2.0 * _Z_OF_90_PERCENT)
        return replace(
            self.software_costs,
            slice_s=self.software_costs.slice_s * math.exp(slice_spread * chance.gauss(0.0, 1.0)),
            kept_s=self.software_costs.kept_s * math.exp(_KEPT_SPREAD * chance.gauss(0.0, 1.0)),
        )

    def pipelined_s(
        self, table: PeerTable, hosts: Sequence[int], *, is_free: bool = False
    ) -> float:
        """Return the predicted seconds of a pipelined collective; `is_free`: without overhead."""
        timer = TableTimer(table, scale_rates(self.network, math.inf))
        begun_s = 0.0 if is_free else self.software_costs.overhead_s * len(table.rounds)
        return self.links.carried_s(timer.loads, hosts) + timer.time_s(list(hosts)) + begun_s

    def estimate(
        self,
        runs_s: Sequence[float],
        free_s: float,
        size_bytes: int,
        hosts: Sequence[int],
        *,
        rounds: int,
    ) -> Expected:
        """Return the median of simulated runs with its 90 % interval, or why it is not trusted.

        In each of the rounds a rank may have to wait for a core; `free_s` is the time without
        overhead.
        """
        seconds = statistics.median(runs_s)
        cores = self.fit.shared_cores
        takes_turns = self.takes_turns(len(hosts))
        if cores is not None and len(hosts) > cores and not takes_turns:
            waits_s = max(seconds - free_s, rounds * _SLICE_S)
            if waits_s > _MOST_OVERHEAD * seconds:
                ranks = format_count(len(hosts), "rank")
                what = f"{ranks} share {format_count(cores, 'core')}, and may mostly wait for one"
                return Expected(None, refused=f"{what}: how long that takes cannot be predicted")
            if self.fit.processor_s_per_gb is not None:
                each_s = self.fit.processor_s_per_gb.value * size_bytes * 1e-9
                seconds = max(seconds, each_s * len(hosts) / cores)
        by_chance = np.log(np.maximum(runs_s, 1e-12)).std()
        spread = math.hypot(spread_at(self.fit, size_bytes), float(by_chance))
        beyond = beyond_spread(self.fit, size_bytes)
        spread = math.hypot(spread, beyond, _TURNS_SPREAD if takes_turns else 0.0)
        if takes_turns and spread > _MOST_SPREAD:
            ranks = format_count(len(hosts), "rank")
            what = f"{ranks} take turns on {format_count(cores or 0, 'core')}"
            return Expected(None, refused=f"{what}: for how long each waits is too uncertain")
        reach = math.exp(_Z_OF_90_PERCENT * spread)
        return Expected(seconds, seconds / reach, seconds * reach)


def spread_at(fit: ClientFit, size_bytes: int) -> float:
    """Return the standard deviation of log times at a buffer size, interpolated between sizes."""
    sizes = [math.log(max(1, each.size_bytes)) for each in fit.spreads]
    spreads = [each.spread for each in fit.spreads]
    return float(np.interp(math.log(max(1, size_bytes)), sizes, spreads))


def beyond_spread(fit: ClientFit, size_bytes: int) -> float:
    """Return the deviation of log times to add for buffers larger than all that were fitted to."""
    if not fit.samples or not fit.spreads:
        return 0.0
    doublings = math.log2(max(1.0, size_bytes / max(1, fit.spreads[-1].size_bytes)))
    return min(_MOST_BEYOND, _DOUBLING_SPREAD * doublings)
