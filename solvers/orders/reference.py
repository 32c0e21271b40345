"""Reference evaluation of an order in plain Python, for tests of the native ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.form import Form, RingForm, RoundsForm, TreesForm
from plink.solvers.ring.reference import ring_cost

Matrix = npt.NDArray[np.float64]


def cost(form: Form, distance: Matrix, order: Sequence[int]) -> float:
    """Return an order's cost under a latency form (Luo 2020, §5.2.1).

    Args:
        form: what is summed, over N ranks.
        distance: (N, N), symmetric, zero diagonal.
        order: a permutation of the N hosts, `order[rank]` = host.

    Returns:
        A sum of distances, in the matrix's unit.
    """
    if isinstance(form, RingForm):
        return ring_cost(distance, order)
    if isinstance(form, RoundsForm):
        return rounds_cost(form, distance, order)
    return trees_cost(form, distance, order)


def rounds_cost(form: RoundsForm, distance: Matrix, order: Sequence[int]) -> float:
    """Return the sum over rounds of weight times the greatest distance."""
    joined = form.joined
    if not len(joined.weights):
        return 0.0
    hosts = np.asarray(order, dtype=np.intp)
    hops = distance[hosts[joined.edges[:, 0]], hosts[joined.edges[:, 1]]]
    return math.fsum((np.maximum.reduceat(hops, joined.starts) * joined.weights).tolist())


def trees_cost(form: TreesForm, distance: Matrix, order: Sequence[int]) -> float:
    """Return the greatest sum of distances from a root to a leaf over all trees."""
    return max((_tree_cost(parents, distance, order) for parents in form.parents), default=0.0)


def _tree_cost(parents: npt.NDArray[np.intp], distance: Matrix, order: Sequence[int]) -> float:
    hosts = np.asarray(order, dtype=np.intp)
    hops = distance[hosts[np.maximum(parents, 0)], hosts[: len(parents)]].tolist()
    children: list[list[int]] = [[] for _ in parents]
    waiting = []
    for rank, parent in enumerate(parents.tolist()):
        if parent >= 0:
            children[parent].append(rank)
        elif parent == -1:
            waiting.append((rank, 0.0))
    greatest = 0.0
    while waiting:
        rank, above = waiting.pop()
        greatest = max(greatest, above)
        for child in children[rank]:
            waiting.append((child, above + hops[child]))
    return greatest
