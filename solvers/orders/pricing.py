"""Native evaluation of orders under a latency form, one or very many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.form import Form, RingForm, RoundsForm
from plink.solvers.limits.deadline import Deadline

Matrix = npt.NDArray[np.float64]


class Prices:
    """Evaluator of the latency form's cost (Luo 2020, §5.2.1) for hosts with slots.

    Equal to the plain evaluators (`plink.solvers.orders.reference`) but for last digits of sums.

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
        self._form = form
        self._native = _native_of(form)

    def of(self, order: Sequence[int]) -> float:
        """Return the cost of a permutation of the hosts."""
        only = np.asarray(order, dtype=np.int64)[None, :]
        return float(self.price_first(only, Deadline(0.0), least=1)[0])

    def price_first(
        self, orders: npt.NDArray[np.int64], deadline: Deadline, *, least: int
    ) -> Matrix:
        """Return costs of the first K of (M, H) orders, (K,), as many as the time allows.

        Args:
            orders: permutations of the hosts.
            deadline: when to stop.
            least: so many are priced in any case.
        """
        priced = _native.ring_prices if self._native is None else self._native.prices
        return np.asarray(
            priced(self._distance, orders, self._slots, self._ranks, least, deadline.native)
        )


def _native_of(form: Form) -> _native.RoundsPrice | _native.TreesPrice | None:
    if isinstance(form, RingForm):
        return None
    if isinstance(form, RoundsForm):
        edges = [np.ascontiguousarray(step.edges, dtype=np.int64) for step in form.rounds]
        return _native.RoundsPrice(edges, [step.weight for step in form.rounds])
    return _native.TreesPrice([np.ascontiguousarray(tree, np.int64) for tree in form.parents])
