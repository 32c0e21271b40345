"""Orders spread over the range of what is predicted for them, so that predictions can be tested."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.model.network import KnownNetwork
from plink.optimize.prediction import OrderCost, Predictor
from plink.solvers.contention.contention_search import search_by_contention, sort_by_groups
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline
from plink.solvers.search import SearchOptions

Order = tuple[int, ...]

# Candidates: random orders, and others on their way from random to good.
_RANDOM = 300
_CLIMBS = 16
_TRIES = (10, 30, 100, 300)

_SEARCH_S = 1.0


def spread_orders(
    predictor: Predictor, network: KnownNetwork, count: int, seed: int
) -> Sequence[Order]:
    """Different orders, half of them spread over the range of either form of the predicted cost.

    Args:
        predictor: of the algorithm, one rank a host.
        network: what is known of the hosts.
        count: how many; fewer come back where there are not so many orders.
        seed: decides which.
    """
    rng = np.random.default_rng(seed)
    hosts = network.network.hosts
    found = {tuple(rng.permutation(hosts).tolist()) for _ in range(_RANDOM)}
    for climb in range(_CLIMBS):
        found |= _climb(predictor, rng.permutation(hosts), rng, by_time=climb % 2 == 0)
    found |= {tuple(sort_by_groups(order, network.network.group_of)) for order in list(found)}
    clock = TableTimer(predictor.table, network.network)
    best = search_by_contention(clock, sorted(found)[:1], SearchOptions(Deadline(_SEARCH_S), seed))
    candidates = sorted({*found, tuple(best.order)})
    costs = [predictor.cost(order) for order in candidates]
    by_form = [
        values
        for values in (
            _all_or_none([cost.time_s for cost in costs]),
            _all_or_none([c.latency_us for c in costs]),
        )
        if values is not None
    ]
    return [candidates[place] for place in _places(by_form, min(count, len(candidates)))]


def _climb(
    predictor: Predictor, order: npt.NDArray[np.intp], rng: np.random.Generator, *, by_time: bool
) -> set[Order]:
    """Return a random order after more and more swaps that helped."""
    seen: set[Order] = set()
    least = _cost(predictor.cost(order), by_time=by_time)
    for turn in range(1, max(_TRIES) + 1):
        first, second = rng.integers(len(order), size=2)
        order[[first, second]] = order[[second, first]]
        now = _cost(predictor.cost(order), by_time=by_time)
        if now <= least:
            least = now
        else:
            order[[first, second]] = order[[second, first]]
        if turn in _TRIES:
            seen.add(tuple(order.tolist()))
    return seen


def _cost(cost: OrderCost, *, by_time: bool) -> float:
    wanted, other = (cost.time_s, cost.latency_us) if by_time else (cost.latency_us, cost.time_s)
    known = other if wanted is None else wanted
    return 0.0 if known is None else known


def _all_or_none(values: Sequence[float | None]) -> npt.NDArray[np.float64] | None:
    known = [value for value in values if value is not None]
    return np.array(known) if len(known) == len(values) else None


def _places(by_form: Sequence[npt.NDArray[np.float64]], count: int) -> list[int]:
    """Choose `count` candidates, nearest to evenly spaced values of each form in turn."""
    chosen: list[int] = []
    for number in range(count):
        if not by_form:
            chosen.append(number)
            continue
        values = by_form[number % len(by_form)]
        steps = max(1, -(-count // len(by_form)) - 1)
        share = (number // len(by_form)) / steps
        wanted = values.min() + share * (values.max() - values.min())
        nearest = np.argsort(np.abs(values - wanted), kind="stable")
        chosen.append(next(int(place) for place in nearest if place not in chosen))
    return chosen
