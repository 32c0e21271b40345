"""Every order, one after the other: for few ranks."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from solvers.collectives.form import RoundsForm, TreesForm

Matrix = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.intp]

# 40,320 orders.
MAX_RANKS = 8


def cheapest_order(form: RoundsForm | TreesForm, distance: Matrix) -> list[int]:
    """A cheapest order, the first in lexicographic order; of at most 8 ranks."""
    orders = np.array(list(itertools.permutations(range(form.ranks))), dtype=np.intp)
    if isinstance(form, RoundsForm):
        costs = _rounds_costs(form, distance, orders)
    else:
        costs = _trees_costs(form, distance, orders)
    return [int(host) for host in orders[costs.argmin()]]


def _rounds_costs(form: RoundsForm, distance: Matrix, orders: Ranks) -> Matrix:
    """(K,) by row of (K, N) orders."""
    costs = np.zeros(len(orders))
    for step in form.rounds:
        greatest = np.zeros(len(orders))
        for a, b in step.edges:
            np.maximum(greatest, distance[orders[:, a], orders[:, b]], out=greatest)
        costs += step.weight * greatest
    return costs


def _trees_costs(form: TreesForm, distance: Matrix, orders: Ranks) -> Matrix:
    """(K,) by row of (K, N) orders."""
    greatest = np.zeros(len(orders))
    for parents in form.parents:
        for leaf in range(form.ranks):
            path, rank = np.zeros(len(orders)), leaf
            while parents[rank] >= 0:
                path += distance[orders[:, rank], orders[:, parents[rank]]]
                rank = int(parents[rank])
            np.maximum(greatest, path, out=greatest)
    return greatest
