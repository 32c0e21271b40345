"""Exhaustive search over all orders."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RingForm, RoundsForm
from plink.solvers.orders.solution import Stage

Matrix = npt.NDArray[np.float64]
Orders = npt.NDArray[np.intp]

_MOST_RANKS = 9

# Orders that are priced at the same time.
_AT_ONCE = 5040


def brute_force(
    form: Form, distance: Matrix, incumbent: Sequence[int], time_limit_s: float
) -> Stage:
    """Return the cheapest of all orders.

    Args:
        form: form of at most 9 ranks; of more, nothing is tried.
        distance: (N, N).
        incumbent: an order; returned if no order is cheaper.
        time_limit_s: looked at after every 5,040 orders.
    """
    until = time.monotonic() + time_limit_s
    # A ring costs the same from whichever host it begins.
    fixed = 1 if isinstance(form, RingForm) else 0
    tails = itertools.permutations(range(fixed, form.ranks))
    best, order = latency_cost(form, distance, incumbent), list(incumbent)
    if form.ranks > _MOST_RANKS:
        return Stage(order, 0.0, is_final=False)
    while rows := list(itertools.islice(tails, _AT_ONCE)):
        orders = np.array([[*range(fixed), *row] for row in rows], dtype=np.intp)
        cheapest = orders[int(costs_of(form, distance, orders).argmin())].tolist()
        cost = latency_cost(form, distance, cheapest)
        if cost < best:
            best, order = cost, cheapest
        if time.monotonic() >= until and next(tails, None) is not None:
            return Stage(order, 0.0, is_final=False)
    return Stage(order, best, is_final=True)


def costs_of(form: Form, distance: Matrix, orders: Orders) -> Matrix:
    """Return the cost of every row of (K, N) orders, (K,)."""
    if isinstance(form, RingForm):
        hops: Matrix = distance[orders, np.roll(orders, -1, axis=1)]
        total: Matrix = hops.sum(axis=1)
        return total
    costs = np.zeros(len(orders))
    if isinstance(form, RoundsForm):
        for step in form.rounds:
            if len(step.edges) > 0:
                hops = distance[orders[:, step.edges[:, 0]], orders[:, step.edges[:, 1]]]
                costs += step.weight * hops.max(axis=1)
        return costs
    for parents in form.parents:
        for leaf in range(len(parents)):
            path, rank = np.zeros(len(orders)), leaf
            while parents[rank] >= 0:
                path += distance[orders[:, rank], orders[:, parents[rank]]]
                rank = int(parents[rank])
            costs = np.maximum(costs, path)
    return costs
