"""Simulated annealing of an order as Luo 2020, §5.2.3, describes it, written straight down.

Neighbours are orders with a random sub-array permuted, or with a random pair of ranks swapped; the
cost is the form's own, with its maxima. The paper names neither temperatures nor their course:
here they fall geometrically, from what moves change at first to a thousandth of it.
"""

from __future__ import annotations

import math
import time

import numpy as np
import numpy.typing as npt

from solvers.collectives.form import RoundsForm

Matrix = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.intp]

_LONGEST = 8
_SAMPLES = 100
_COOLED = 1e-3


def paper_annealing(form: RoundsForm, distance: Matrix, seed: int, time_limit_s: float) -> float:
    """The least cost found from a random order, in so many seconds."""
    price = _Price(form, distance)
    rng = np.random.default_rng(seed)
    order = rng.permutation(form.ranks)
    cost = best = price(order)
    changes = [abs(price(_neighbour(rng, order)) - cost) for _ in range(_SAMPLES)]
    first = max(float(np.mean(changes)), 1e-9)
    begin = time.monotonic()
    while (progress := (time.monotonic() - begin) / time_limit_s) < 1.0:
        temperature = first * _COOLED**progress
        other = _neighbour(rng, order)
        change = price(other) - cost
        if change <= 0.0 or rng.random() < math.exp(-change / temperature):
            order, cost = other, cost + change
            best = min(best, cost)
    return best


class _Price:
    """The cost of an order, all edges of all rounds looked up at once."""

    def __init__(self, form: RoundsForm, distance: Matrix) -> None:
        self._distance = distance.ravel()
        self._size = len(distance)
        edges = np.concatenate([step.edges for step in form.rounds])
        self._low, self._high = edges[:, 0].copy(), edges[:, 1].copy()
        self._first = np.cumsum([0, *(len(step.edges) for step in form.rounds)])[:-1]
        self._weight = np.array([step.weight for step in form.rounds])

    def __call__(self, order: Ranks) -> float:
        hops = self._distance.take(order.take(self._low) * self._size + order.take(self._high))
        return float(np.maximum.reduceat(hops, self._first) @ self._weight)


def _neighbour(rng: np.random.Generator, order: Ranks) -> Ranks:
    other = order.copy()
    size = len(order)
    if rng.random() < 0.5:
        i, j = rng.integers(size, size=2)
        other[i], other[j] = other[j], other[i]
    else:
        length = int(rng.integers(2, min(_LONGEST, size) + 1))
        start = int(rng.integers(0, size - length + 1))
        rng.shuffle(other[start : start + length])
    return other
