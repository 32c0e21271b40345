"""What an algorithm is predicted to cost in an order: by latency, and under contention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.distance import Matrix, distances
from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.network import KnownNetwork
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
    """

    latency_us: float | None
    time_s: float | None


class Predictor:
    """The costs of one algorithm on one cluster.

    Args:
        algorithm: one that takes so many ranks.
        ranks: how many; hosts where the algorithm runs over these.
        size_bytes: the buffer of each.
        distance_us: (hosts, hosts) between them (`known_distance_us`); None where none is known.
        network: what the cluster says of the network (`plink.network.network_of`).
    """

    def __init__(
        self,
        algorithm: Algorithm,
        ranks: int,
        size_bytes: int,
        *,
        distance_us: Matrix | None,
        network: KnownNetwork,
    ) -> None:
        self.table = algorithm.table(ranks, size_bytes)
        self._form = algorithm.form(ranks)
        self._is_over_hosts = algorithm.is_over_hosts
        self._distance_us = distance_us
        self._clock = Clock(self.table, network.network) if network.has_rates else None

    def cost(self, hosts: Hosts) -> Cost:
        """The cost with rank r on host `hosts[r]`; several ranks may share a host."""
        order = [int(host) for host in hosts]
        if self._is_over_hosts:
            order = list(dict.fromkeys(order))
        distance_us = self._distance_us
        return Cost(
            None if distance_us is None else latency_cost(self._form, distance_us, order),
            None if self._clock is None else self._clock.time_s(order),
        )


def known_distance_us(cluster: Cluster) -> Matrix | None:
    """The distances between a cluster's hosts (`plink.distance`); None where none was measured."""
    try:
        return distances(cluster).matrix_us
    except WrongUseError:  # nothing was measured
        return None
