"""Results of searches for an order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

EndedBy = Literal["exact", "bound", "steps", "time", "interrupt"]


@dataclass(frozen=True)
class OrderSolution:
    """Order with its cost, bound and search statistics.

    Args:
        order: `order[rank]` = host.
        cost: the form's, in the matrix's unit, by the plain evaluator.
        lower_bound: no order costs less.
        ended_by: `exact` (every order was tried, or a proof), `bound` (the cost meets the bound),
            `steps` (as many as asked for, or as were worth it), `time`, or `interrupt`.
        steps: moves tried, of all threads; a ring's are its kicks.
    """

    order: Sequence[int]
    cost: float
    lower_bound: float
    ended_by: EndedBy
    steps: int


@dataclass(frozen=True)
class Stage:
    """Result of a search for a cheaper order.

    Args:
        order: the cheapest that was found, or None.
        bound: every order costs at least so much; in whole units if the engine counts in them.
        is_final: no order is cheaper than `order`; than what was asked for, where that is None.
    """

    order: Sequence[int] | None
    bound: float
    is_final: bool
