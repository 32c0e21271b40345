"""What algorithms are predicted to cost in an order, in the given one, and in random ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.model.network import network_of
from plink.optimize.orders.slots import modelled
from plink.optimize.prediction import Cost, Predictor, known_distances
from solvers.collectives.algorithm import Algorithm
from solvers.slots.layout import RankLayout

RANDOM_ORDERS = 101

# Members of a cost that are there only where pairs were not measured.
_RANGES = ("_range_us", "_range_s")


@dataclass(frozen=True)
class Orders:
    """For whom to predict.

    Args:
        source: what messages call the order, or the cluster file where there is none.
        placement: the host of every rank in the order, or None for the given order alone.
        filling: how ranks fill the cluster's hosts in other orders.
    """

    source: str
    placement: Sequence[int] | None
    filling: RankLayout


@dataclass(frozen=True)
class Row:
    """One algorithm: what it costs in the order, in the given one, and in a random one (median)."""

    algorithm: str
    order: Cost | None
    given: Cost
    random: Cost


@dataclass(frozen=True)
class Forecast:
    """What algorithms are predicted to cost.

    Args:
        source: what was predicted for (`Orders`).
        refused: algorithms that do not take so many ranks, and why.
        assumptions: what was assumed of the network (`plink.model.network`).
        has_times: whether anything is known of what links carry.
    """

    source: str
    hosts: int
    ranks: int
    size_bytes: int
    rows: Sequence[Row]
    refused: Sequence[tuple[str, str]]
    assumptions: Sequence[str]
    has_times: bool


def forecast(
    cluster: Cluster,
    orders: Orders,
    algorithms: Sequence[Algorithm],
    size_bytes: int,
    *,
    seed: int,
    on_progress: Callable[[str], None] | None = None,
) -> Forecast:
    """Predict for each algorithm that takes so many ranks.

    Args:
        cluster: the hosts, and what was measured between them.
        orders: the order.
        algorithms: of them.
        size_bytes: the buffer of each rank.
        seed: decides the random orders.
        on_progress: called with the name of each algorithm that is begun.
    """
    network, known = network_of(cluster), known_distances(cluster)
    filling = orders.filling
    given = filling.placement(range(filling.hosts))
    rng = np.random.default_rng(seed)
    shuffled = [filling.placement(rng.permutation(filling.hosts)) for _ in range(RANDOM_ORDERS)]
    rows, refused = [], []
    for algorithm in algorithms:
        reason = _refusal(algorithm, filling)
        if reason is not None:
            refused.append((algorithm.name, reason))
            continue
        if on_progress is not None:
            on_progress(algorithm.name)
        ranks = modelled(algorithm, filling).ranks
        predictor = Predictor(algorithm, ranks, size_bytes, distances=known, network=network)
        rows.append(
            Row(
                algorithm.name,
                None if orders.placement is None else predictor.cost_with_range(orders.placement),
                predictor.cost_with_range(given),
                _median([predictor.cost(order) for order in shuffled]),
            )
        )
    return Forecast(
        source=orders.source,
        hosts=len(set(given.tolist() if orders.placement is None else orders.placement)),
        ranks=filling.ranks,
        size_bytes=size_bytes,
        rows=rows,
        refused=refused,
        assumptions=network.assumptions,
        has_times=network.has_rates,
    )


def _refusal(algorithm: Algorithm, filling: RankLayout) -> str | None:
    """Why an algorithm does not run so, or None."""
    try:
        return algorithm.refusal(modelled(algorithm, filling).ranks)
    except WrongUseError as error:
        return str(error)


def to_json(found: Forecast) -> dict[str, Any]:
    """The JSON object that `--json` prints."""
    return {
        "source": found.source,
        "hosts": found.hosts,
        "ranks": found.ranks,
        "size_bytes": found.size_bytes,
        "random_orders": RANDOM_ORDERS,
        "assumptions": list(found.assumptions),
        "rows": [asdict(row, dict_factory=_without_unknown_ranges) for row in found.rows],
        "refused": [{"algorithm": name, "reason": reason} for name, reason in found.refused],
    }


def _without_unknown_ranges(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if value is not None or not name.endswith(_RANGES)}


def _median(costs: Sequence[Cost]) -> Cost:
    latencies_us = [cost.latency_us for cost in costs if cost.latency_us is not None]
    times_s = [cost.time_s for cost in costs if cost.time_s is not None]
    return Cost(
        float(np.median(latencies_us)) if latencies_us else None,
        float(np.median(times_s)) if times_s else None,
    )
