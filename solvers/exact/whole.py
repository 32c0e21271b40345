"""Conversion of distances to integers, which the exact engines require."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RingForm, RoundsForm
from plink.solvers.collectives.trees import depths

Matrix = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

# The greatest term in units. Sums of them stay far below what the engines can count to.
_UNITS = 1_000_000


@dataclass(frozen=True)
class EngineResult:
    """Result of an exact engine's search: a cheaper order or None, and a lower bound on the cost.

    Args:
        order: the cheapest that was found, or None.
        bound: every order costs at least so much; in whole units if the engine counts in them.
        is_final: no order is cheaper than `order`; than what was asked for, where that is None.
    """

    order: Sequence[int] | None
    bound: float
    is_final: bool


@dataclass(frozen=True)
class WholeTerms:
    """Weighted distances of a latency cost as integers, rounded down.

    In units no order costs more than it really does, nor less by more than a unit a term. So a
    lower bound in units is one; and where no order costs fewer units than some order does, none is
    really cheaper than that one by more than `tolerance`.

    Args:
        unit: in the matrix's unit.
        tolerance: the number of terms of a cost, in the matrix's unit.
        terms_of: (N, N) of each round; one for all hops of a ring or of trees.
    """

    unit: float
    tolerance: float
    terms_of: Sequence[Whole]

    def cost(self, form: Form, order: Sequence[int]) -> int:
        """Return the latency cost of an order in integer units."""
        if not isinstance(form, RoundsForm):
            return int(latency_cost(form, self.terms_of[0].astype(np.float64), order))
        hosts = np.asarray(order, dtype=np.intp)
        return sum(
            int(terms[hosts[step.edges[:, 0]], hosts[step.edges[:, 1]]].max())
            for step, terms in zip(form.rounds, self.terms_of, strict=True)
        )

    def convert_bound(self, bound: float) -> int:
        """Convert a lower bound from the matrix's unit to integer units, rounded down to hold."""
        return max(0, math.floor((bound - self.tolerance) / self.unit) - 1)


def whole_terms(form: Form, distance: Matrix) -> WholeTerms:
    """Return a latency cost's weighted distances as integers, in millionths of the greatest."""
    weights = [step.weight for step in form.rounds] if isinstance(form, RoundsForm) else [1.0]
    if isinstance(form, RingForm):
        count = form.ranks
    elif isinstance(form, RoundsForm):
        count = len(weights)
    else:
        count = max(int(depths(parents[None]).max()) for parents in form.parents)
    unit = float(distance.max()) * max(weights) / _UNITS or 1.0
    return WholeTerms(
        unit, count * unit, [_round_down(weight * distance, unit) for weight in weights]
    )


def _round_down(values: Matrix, unit: float) -> Whole:
    units = np.floor(values / unit)
    # The division may have rounded up.
    units -= units * unit > values
    return np.maximum(units, 0.0).astype(np.int64)
