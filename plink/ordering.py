"""From a cluster to the rank order that suits an algorithm."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from plink.distance import both_directions, distances
from plink.files.cluster import Cluster
from plink.files.order import Order, Solver
from plink.files.rtt import percentile_name
from solvers.ring import reference
from solvers.ring.search import solve
from solvers.ring.solution import Progress

RANDOM_ORDERS = 1001

# An order found on one direction's readings must save on the other's at least this share of what
# the order itself saves. Among pairs that are all alike, the search picks those whose readings
# happen to be low, which does not happen to the other direction again.
_LEAST_CONFIRMED = 0.5
_LEAST_GAIN = 0.02

# Of the time limit, for that check.
_CHECK_SHARE = 0.1

# Fewer make one ring only.
_LEAST_HOSTS = 4


def solve_ring(
    cluster: Cluster,
    made_from: str | None,
    *,
    seed: int,
    time_limit_s: float,
    on_progress: Callable[[Progress], None] | None = None,
) -> Order:
    """The hosts in an order whose ring is cheap: the sum of hops, wrap-around included.

    Args:
        cluster: hosts and round-trip times.
        made_from: the hash of the cluster file.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the search. An interrupt (Ctrl-C) ends it with the best so far.
        on_progress: called some twenty times a second.

    Raises:
        WrongUseError: nothing was measured.
    """
    start = time.monotonic()
    found = distances(cluster)
    given = list(range(len(cluster.hosts)))
    check_s = _CHECK_SHARE * time_limit_s
    solution = solve(
        found.matrix_us,
        given,
        seed=seed,
        time_limit_s=time_limit_s - check_s,
        on_progress=on_progress,
    )
    ended_by, confirmed = solution.ended_by, None
    if ended_by != "interrupt":
        try:
            confirmed = _confirmed_gain(cluster, seed, check_s)
        except KeyboardInterrupt:
            ended_by = "interrupt"
    return Order(
        algorithm="ring",
        hosts=[cluster.hosts[host] for host in solution.order],
        hops_us=found.matrix_us[solution.order, np.roll(solution.order, -1)].tolist(),
        given=cluster.names,
        cost_us=solution.cost,
        cost_given_us=reference.ring_cost(found.matrix_us, given),
        cost_random_us=_median_of_random(found.matrix_us, seed),
        random_orders=RANDOM_ORDERS,
        lower_bound_us=solution.lower_bound,
        solver=Solver(
            name="dynamic-programming" if solution.ended_by == "exact" else "lin-kernighan",
            options={"time_limit_s": time_limit_s, **_reading(cluster)},
            seed=seed,
            steps=solution.kicks,
            ended_by=ended_by,
        ),
        seconds=time.monotonic() - start,
        filled_pairs=found.filled_pairs,
        unmeasured_hosts=found.unmeasured_hosts,
        confirmed_gain=confirmed,
        made_from=made_from,
    )


def doubt(order: Order) -> str | None:
    """Why the order's gain may not be real, as one sentence; None where nothing speaks for that."""
    if len(order.hosts) == 1:
        return "one host has one order only"
    if len(order.hosts) < _LEAST_HOSTS:
        return f"every ring of {len(order.hosts)} costs the same"
    if order.gain < _LEAST_GAIN:
        return (
            "no structure found: the order is predicted to cost as much as a random one, "
            f"within {_percent(_LEAST_GAIN)}"
        )
    confirmed = order.confirmed_gain
    if confirmed is not None and confirmed < _LEAST_CONFIRMED * order.gain:
        return (
            f"this may be noise: {_percent(order.gain)} is predicted, but an order found on one "
            f"direction's readings saves {_percent(confirmed)} on the other's"
        )
    return None


def confirmation(order: Order) -> str:
    """How much of the predicted gain was found again, in a few words."""
    confirmed = order.confirmed_gain
    if confirmed is None:
        return "not checked"
    found = _percent(confirmed)
    if confirmed < _LEAST_CONFIRMED * order.gain:
        return f"{found} of {_percent(order.gain)}: mostly noise"
    return f"{found} of the {_percent(order.gain)} predicted"


def _percent(share: float) -> str:
    """A gain as people read it; a loss is no gain."""
    return f"{max(0.0, share):.0%}".replace("%", " %")


def _confirmed_gain(cluster: Cluster, seed: int, time_limit_s: float) -> float | None:
    readings = both_directions(cluster)
    if readings is None:
        return None
    first_us, second_us = readings
    found = solve(first_us, seed=seed, time_limit_s=time_limit_s)
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    random_us = _median_of_random(second_us, seed)
    return 1.0 - reference.ring_cost(second_us, found.order) / random_us if random_us else None


def _reading(cluster: Cluster) -> dict[str, str]:
    """Which percentile stood for a pair."""
    return {} if cluster.rtt is None else {"reading": percentile_name(cluster.rtt.reading)}


def _median_of_random(matrix_us: npt.NDArray[np.float64], seed: int) -> float:
    rng = np.random.default_rng([seed, RANDOM_ORDERS])
    costs = []
    for _ in range(RANDOM_ORDERS):
        order = rng.permutation(len(matrix_us))
        costs.append(matrix_us[order, np.roll(order, -1)].sum())
    return float(np.median(costs))
