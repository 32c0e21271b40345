"""What an algorithm is predicted to cost in an order: by latency, and under contention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.model.distance import Distances, distances
from plink.model.gaps import Range, latency_range_us, time_range_s
from plink.model.network import KnownNetwork
from solvers.collectives.algorithm import Algorithm
from solvers.contention.time import Clock
from solvers.orders.reference import cost as latency_cost

Hosts = Sequence[int] | npt.NDArray[np.intp]


@dataclass(frozen=True)
class Cost:
    """What one order costs.

    Args:
        latency_us: the latency form of the algorithm's cost (Luo 2020, §5.2.1); None where no
            round-trip time is known.
        time_s: under contention; None where nothing is known of what links carry.
        latency_range_us, time_range_s: from what to what these are, where pairs were not measured
            (`plink.model.distance.Limits`); None where all were, or where that was not asked for.
    """

    latency_us: float | None
    time_s: float | None
    latency_range_us: Range | None = None
    time_range_s: Range | None = None


class Predictor:
    """The costs of one algorithm on one cluster.

    Args:
        algorithm: one that takes so many ranks.
        ranks: how many; hosts where the algorithm runs over these.
        size_bytes: the buffer of each.
        distances: between the hosts (`known_distances`); None where none is known.
        network: what the cluster says of the network (`plink.model.network.network_of`).
    """

    def __init__(
        self,
        algorithm: Algorithm,
        ranks: int,
        size_bytes: int,
        *,
        distances: Distances | None,
        network: KnownNetwork,
    ) -> None:
        self.table = algorithm.table(ranks, size_bytes)
        self._form = algorithm.form(ranks)
        self._is_over_hosts = algorithm.is_over_hosts
        self._distances = distances
        self._network = network
        self._clock = Clock(self.table, network.network) if network.has_rates else None

    def cost(self, hosts: Hosts) -> Cost:
        """The cost with rank r on host `hosts[r]`; several ranks may share a host."""
        order = self._peers(hosts)
        known = self._distances
        return Cost(
            None if known is None else latency_cost(self._form, known.matrix_us, order),
            None if self._clock is None else self._clock.time_s(order),
        )

    def cost_with_range(self, hosts: Hosts) -> Cost:
        """The same, and from what to what it is where pairs were not measured."""
        found = self.cost(hosts)
        limits = None if self._distances is None else self._distances.limits
        if limits is None:
            return found
        order = self._peers(hosts)
        return replace(
            found,
            latency_range_us=latency_range_us(self._form, limits, order),
            time_range_s=None
            if self._clock is None
            else time_range_s(self.table, self._network.network, limits, order),
        )

    def _peers(self, hosts: Hosts) -> list[int]:
        order = [int(host) for host in hosts]
        return list(dict.fromkeys(order)) if self._is_over_hosts else order


def known_distances(cluster: Cluster) -> Distances | None:
    """The distances between hosts (`plink.model.distance`); None where none was measured."""
    try:
        return distances(cluster)
    except WrongUseError:  # nothing was measured
        return None
