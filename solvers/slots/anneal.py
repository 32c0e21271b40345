"""Annealing of any cost function of whole orders, where no faster search applies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.orders.solution import EndedBy

Order = list[int]

# So many random moves tell how much one changes.
_SAMPLES = 30
# In mean changes: temperatures fall from the first to the second, geometrically in time.
_HOT, _COLD = 0.5, 1e-3
# The share of the time for moves that help alone, from the best order.
_DESCENT_SHARE = 0.2
_TELL_S = 0.05


def anneal_order(
    cost: Callable[[Order], float],
    start: Sequence[int],
    used: Callable[[Order], int],
    *,
    seed: int,
    deadline: Deadline,
    on_progress: Callable[[SearchProgress], None] | None = None,
) -> tuple[Order, int, EndedBy]:
    """Return the cheapest order found, the number of orders tried, and what ended the search.

    Moves exchange two places, put one elsewhere, or turn a stretch around (Kirkpatrick, Gelatt,
    Vecchi 1983).

    Args:
        cost: cost of an order of all that may have a place.
        start: at least two; returned where nothing is cheaper.
        used: how many of an order, from its front, matter to its cost.
        seed: decides every choice by chance.
        deadline: an interrupt (Ctrl-C) ends the search earlier, with the best so far.
        on_progress: called some twenty times a second.
    """
    run = _OrderAnnealing(cost, list(start), used, np.random.default_rng(seed), on_progress)
    try:
        ended_by = run.until(deadline)
    except KeyboardInterrupt:
        ended_by = "interrupt"
    return run.best, run.tried, ended_by


class _OrderAnnealing:
    def __init__(
        self,
        cost: Callable[[Order], float],
        start: Order,
        used: Callable[[Order], int],
        rng: np.random.Generator,
        on_progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self._price = cost
        self._used = used
        self._rng = rng
        self._on_progress = on_progress
        self._order, self._cost = start, cost(start)
        self.best, self._best_cost = start, self._cost
        self.tried = 0

    def until(self, deadline: Deadline) -> EndedBy:
        time_limit_s = deadline.left_s
        changes: list[float] = []
        while len(changes) < _SAMPLES and not deadline.is_over:
            changes.append(abs(self._price(self._propose()) - self._cost))
        unit = float(np.mean(changes)) if changes else 0.0
        told_s, is_descending = 0.0, False
        while not deadline.is_over:
            seconds = time_limit_s - deadline.left_s
            progress = seconds / time_limit_s / (1.0 - _DESCENT_SHARE)
            if progress >= 1.0 and not is_descending:
                is_descending = True
                self._order, self._cost = self.best, self._best_cost
            temperature = 0.0 if is_descending else unit * _HOT * (_COLD / _HOT) ** progress
            self._step(temperature)
            if self._on_progress is not None and seconds >= told_s + _TELL_S:
                told_s = seconds
                self._on_progress(SearchProgress(seconds, self._best_cost, 0.0))
        return "time"

    def _step(self, temperature: float) -> None:
        order = self._propose()
        cost = self._price(order)
        self.tried += 1
        allowed = -temperature * math.log(1.0 - self._rng.random()) if temperature else 0.0
        if cost - self._cost > allowed:
            return
        self._order, self._cost = order, cost
        if cost < self._best_cost:
            self.best, self._best_cost = order, cost

    def _propose(self) -> Order:
        """Return a random neighbouring order that differs where ranks are placed."""
        order = list(self._order)
        first = int(self._rng.integers(self._used(order)))
        second = int(self._rng.integers(len(order)))
        kind = int(self._rng.integers(4))
        if kind == 0:
            order.insert(second, order.pop(first))
        elif kind == 1:
            low, high = sorted((first, second))
            order[low : high + 1] = order[low : high + 1][::-1]
        else:
            order[first], order[second] = order[second], order[first]
        return order
