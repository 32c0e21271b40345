"""Latency cost of rank orders (Luo 2020, §5.2.1): exactly for one order, or fast for many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.form import Form, RingForm, RoundsForm, TreesForm
from plink.solvers.collectives.trees import depths, levels
from plink.solvers.limits import Deadline

Matrix = npt.NDArray[np.float64]


def latency_cost(form: Form, distance: Matrix, order: Sequence[int]) -> float:
    """Return the latency cost of a rank order: the distances that the algorithm waits for.

    Args:
        form: what is summed, over N ranks.
        distance: (N, N), symmetric, zero diagonal.
        order: a permutation of the N hosts, `order[rank]` = host.

    Returns:
        A sum of distances, in the matrix's unit.
    """
    if isinstance(form, RingForm):
        return ring_cost(distance, order)
    if isinstance(form, TreesForm):
        return max((_tree_cost(parents, distance, order) for parents in form.parents), default=0.0)
    joined = form.joined
    if not len(joined.weights):
        return 0.0
    hosts = np.asarray(order, dtype=np.intp)
    hops = distance[hosts[joined.edges[:, 0]], hosts[joined.edges[:, 1]]]
    return math.fsum((np.maximum.reduceat(hops, joined.starts) * joined.weights).tolist())


def ring_cost(distance: Matrix, order: Sequence[int]) -> float:
    """Return the sum of hops around the ring, wrap-around included (Luo 2020, §5.2.1)."""
    hops = zip(order, [*order[1:], *order[:1]], strict=True)
    return math.fsum(float(distance[i, j]) for i, j in hops)


def _tree_cost(parents: npt.NDArray[np.intp], distance: Matrix, order: Sequence[int]) -> float:
    """Return the greatest sum of distances along a root-to-leaf path of a tree."""
    hosts = np.asarray(order, dtype=np.intp)
    paths = np.zeros(len(parents))
    for _, ranks in levels(depths(parents[None]))[1:]:
        above = parents[ranks]
        paths[ranks] = paths[above] + distance[hosts[above], hosts[ranks]]
    return float(paths.max())


class Prices:
    """Native evaluator of an algorithm's latency cost for permutations of the hosts.

    Equal to `latency_cost` but for last digits of sums. Not for several threads at the same time.

    Args:
        form: what is summed, over all ranks.
        distance: (H, H), symmetric, zero diagonal.
        slots: (H,) how many ranks each host takes; None for one.
        ranks: how many there are, which fill an order from its front; None for the form's.
    """

    def __init__(
        self,
        form: Form,
        distance: Matrix,
        slots: Sequence[int] | None = None,
        ranks: int | None = None,
    ) -> None:
        self._distance = np.ascontiguousarray(distance, dtype=np.float64)
        self._slots = [1] * len(distance) if slots is None else list(slots)
        self._ranks = form.ranks if ranks is None else ranks
        self._native: _native.RoundsPrice | _native.TreesPrice | None = None
        if isinstance(form, RoundsForm):
            edges = [np.ascontiguousarray(step.edges, dtype=np.int64) for step in form.rounds]
            self._native = _native.RoundsPrice(
                form.ranks, edges, [step.weight for step in form.rounds]
            )
        elif isinstance(form, TreesForm):
            trees = [np.ascontiguousarray(tree, np.int64) for tree in form.parents]
            self._native = _native.TreesPrice(trees)

    def of(self, order: Sequence[int]) -> float:
        """Return the latency cost of an order: a permutation of the hosts."""
        return float(self.price_all(np.asarray(order, dtype=np.int64)[None, :])[0])

    def price_all(self, orders: npt.NDArray[np.int64]) -> Matrix:
        """Return the latency costs of (M, H) permutations of the hosts, (M,)."""
        return self.price_first(orders, Deadline(0.0), least=len(orders))

    def price_first(
        self, orders: npt.NDArray[np.int64], deadline: Deadline, *, least: int
    ) -> Matrix:
        """Return the latency costs of (M, H) permutations, (K,): the first K <= M that time allows.

        At least `least` of them, whatever the deadline.
        """
        priced = _native.ring_prices if self._native is None else self._native.prices
        return np.asarray(priced(self._distance, orders, self._slots, self._ranks, least, deadline))
