"""Predicted costs of algorithms in an order, in the listed order and in random ones.

By latency (Luo 2020, §5.2.1), and under contention where something is known of what links carry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.limits import Amount, Positive, Text, Whole, Word
from plink.formats.order import Order
from plink.formats.structs import Output
from plink.model.distance import Distances, distances
from plink.model.gaps import Range, latency_range_us, time_range_s
from plink.model.network import KnownNetwork, build_network
from plink.optimize.expected import Expected, ExpectedTimes, find_client
from plink.optimize.orders.mesh import list_dimensions
from plink.optimize.orders.slots import (
    ALL_ALGORITHMS,
    build_layout_like,
    build_peer_layout,
    index_placement,
    refuse_too_many,
)
from plink.plans.names import ALL_REDUCE
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.registry import ALGORITHMS, find, find_by_collective
from plink.solvers.contention.time import TableTimer
from plink.solvers.slots.layout import RankLayout

Hosts = Sequence[int] | npt.NDArray[np.intp]

RANDOM_ORDERS = 101
# Random orders of many messages are fewer: so many messages are looked at in all.
_MOST_LOOKED_AT = 1 << 26
_LEAST_RANDOM_ORDERS = 11


class OrderCost(Output, frozen=True):
    """Predicted cost of an algorithm in one order: sum of latencies, and time with shared links.

    Attributes:
        latency_us: latency form of the algorithm's cost (Luo 2020, §5.2.1), in µs; null if no
            round-trip time is known
        time_s: predicted time under contention, in s; null if nothing is known of what links carry
        latency_range_us, time_range_s: least and greatest value, in µs and in s, if pairs were not
            measured (`plink.model.distance.DistanceLimits`)
    """

    OPTIONAL: ClassVar = ("latency_range_us", "time_range_s")

    latency_us: Amount | None
    time_s: Amount | None
    latency_range_us: Range | None = None
    time_range_s: Range | None = None


class PredictionRow(Output, frozen=True):
    """Predicted costs of one algorithm: in the order, the listed order and random orders.

    Attributes:
        algorithm: name of the algorithm, or a dimension: `mesh: tp`
        order: cost in the order; null without one
        given: cost in the order in which the hosts are listed
        random: median cost of random orders
        expected: time of the algorithm's client, if that was fitted, in the order or else in the
            given one (`plink.optimize.expected`)
    """

    OPTIONAL: ClassVar = ("expected",)

    algorithm: Text
    order: OrderCost | None
    given: OrderCost
    random: OrderCost
    expected: Expected | None = None


class RefusedAlgorithm(Output, frozen=True):
    """Algorithm that does not run with this number of ranks, with the reason.

    Attributes:
        algorithm: name of the algorithm
        reason: why, in words
    """

    algorithm: Word
    reason: Text


class Forecast(Output, frozen=True):
    """Predicted costs of algorithms on a cluster: a row for each, and the refused ones.

    Attributes:
        source: what messages call the order, or the cluster if there is no order
        hosts: number of hosts with a rank
        ranks: number of ranks
        size_bytes: size of the buffer of each rank, in bytes
        random_orders: number of random orders that were drawn
        assumptions: what was assumed of the network (`plink.model.network`)
        rows: costs, algorithm by algorithm
        refused: algorithms that are left out
    """

    IN_MEMORY: ClassVar = frozenset({"has_times"})

    source: Text
    hosts: Positive
    ranks: Positive
    size_bytes: Whole
    random_orders: Positive
    assumptions: Sequence[str]
    rows: Sequence[PredictionRow]
    refused: Sequence[RefusedAlgorithm]
    # Whether anything is known of what links carry.
    has_times: bool


def forecast_costs(
    cluster: Cluster,
    order: Order | None,
    size_bytes: int,
    *,
    algorithms: Sequence[str] = (),
    collectives: Sequence[str] = (),
    seed: int = 0,
    source: str | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Forecast:
    """Predict each algorithm's costs in an order, the listed order and random orders.

    Args:
        cluster: the hosts, and what was measured between them.
        order: of the cluster's hosts; None for the cluster's own order alone. Of a mesh: what its
            dimensions carry is predicted, too.
        size_bytes: the buffer of each rank.
        algorithms: names; none for all of the collectives, but for a mesh.
        collectives: of `plink.plans.names.COLLECTIVES`; none for all algorithms of an all-reduce
            and the papers' all-to-all.
        seed: decides the random orders.
        source: what messages call the order; None for what they call the cluster.
        on_progress: called with the name of each algorithm that is begun.

    Raises:
        WrongUseError: the order is of other hosts, a name is not an algorithm's, or no algorithm
            named takes so many ranks.
    """
    dimensions = [] if order is None or order.mesh is None else list_dimensions(order.mesh)
    chosen = [*dimensions, *(_find(name) for name in algorithms)]
    chosen = chosen or [each for name in collectives for each in find_by_collective(name)]
    chosen = chosen or list(ALGORITHMS.values())
    network, known = build_network(cluster), known_distances(cluster)
    placement = None if order is None else index_placement(cluster, order, source or "the order")
    layout = build_layout_like(cluster, order)
    given = layout.placement(range(layout.hosts))
    rng = np.random.default_rng(seed)
    shuffled = [layout.placement(rng.permutation(layout.hosts)) for _ in range(RANDOM_ORDERS)]
    rows, refused, assumptions = [], [], []
    for algorithm in chosen:
        reason = _refusal(algorithm, layout)
        if reason is not None:
            refused.append(RefusedAlgorithm(algorithm.name, reason))
            continue
        ranks = build_peer_layout(algorithm, layout).ranks
        most = max(_LEAST_RANDOM_ORDERS, _MOST_LOOKED_AT // max(algorithm.messages(ranks), 1))
        few = shuffled[:most]
        if len(few) < RANDOM_ORDERS:
            assumptions.append(
                f"{algorithm.name} has too many messages to be compared with more than {len(few)} "
                "random orders"
            )
        if on_progress is not None:
            on_progress(algorithm.name)
        fit = find_client(algorithm.name, cluster.clients) if network.has_rates else None
        expected = None
        if fit and algorithm.collective == ALL_REDUCE and not algorithm.is_over_hosts:
            used = [int(host) for host in (given if placement is None else placement)]
            expected = ExpectedTimes(cluster, fit).of_algorithm(algorithm, ranks, size_bytes, used)
        predictor = Predictor(algorithm, ranks, size_bytes, distances=known, network=network)
        rows.append(
            PredictionRow(
                algorithm.name,
                None if placement is None else predictor.cost_with_range(placement),
                predictor.cost_with_range(given),
                _median([predictor.cost(random) for random in few]),
                expected,
            )
        )
    if algorithms and not rows:
        raise WrongUseError(refused[0].reason)
    return Forecast(
        source=source or cluster.source,
        hosts=len(set(given.tolist() if placement is None else placement)),
        ranks=layout.ranks,
        size_bytes=size_bytes,
        random_orders=RANDOM_ORDERS,
        rows=rows,
        refused=refused,
        assumptions=[*network.assumptions, *assumptions],
        has_times=network.has_rates,
    )


def _find(name: str) -> Algorithm:
    try:
        return find(name)
    except ValueError as error:
        raise WrongUseError(str(error), ALL_ALGORITHMS) from None


def _refusal(algorithm: Algorithm, layout: RankLayout) -> str | None:
    """Return why an algorithm does not run, or has too many messages to predict; else None."""
    try:
        ranks = build_peer_layout(algorithm, layout).ranks
        reason = algorithm.refusal(ranks)
        if reason is None:
            refuse_too_many(algorithm, ranks, by_table=True)
    except WrongUseError as error:
        return str(error)
    return reason


class Predictor:
    """Predictor of one algorithm's costs on one cluster, in any order.

    Args:
        algorithm: one that takes so many ranks.
        ranks: how many; hosts where the algorithm runs over these.
        size_bytes: the buffer of each.
        distances: between the hosts (`known_distances`); None where none is known.
        network: what the cluster says of the network (`plink.model.network.build_network`).
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
        self._clock = TableTimer(self.table, network.network) if network.has_rates else None

    def cost(self, hosts: Hosts) -> OrderCost:
        """Predict the costs with rank r on host `hosts[r]`; several ranks may share a host."""
        order = self._list_peers(hosts)
        known = self._distances
        return OrderCost(
            None if known is None else latency_cost(self._form, known.matrix_us, order),
            None if self._clock is None else self._clock.time_s(order),
        )

    def cost_with_range(self, hosts: Hosts) -> OrderCost:
        """Predict an order's costs, each with its range if pairs of hosts were not measured."""
        found = self.cost(hosts)
        limits = None if self._distances is None else self._distances.limits
        if limits is None:
            return found
        order = self._list_peers(hosts)
        return replace(
            found,
            latency_range_us=latency_range_us(self._form, limits, order),
            time_range_s=None
            if self._clock is None
            else time_range_s(self.table, self._network.network, limits, order),
        )

    def _list_peers(self, hosts: Hosts) -> list[int]:
        order = [int(host) for host in hosts]
        return list(dict.fromkeys(order)) if self._is_over_hosts else order


def known_distances(cluster: Cluster) -> Distances | None:
    """Return distances of all hosts, with gaps filled; None if no round trip was measured."""
    try:
        return distances(cluster)
    except WrongUseError:  # nothing was measured
        return None


def _median(costs: Sequence[OrderCost]) -> OrderCost:
    latencies_us = [cost.latency_us for cost in costs if cost.latency_us is not None]
    times_s = [cost.time_s for cost in costs if cost.time_s is not None]
    return OrderCost(
        float(np.median(latencies_us)) if latencies_us else None,
        float(np.median(times_s)) if times_s else None,
    )
