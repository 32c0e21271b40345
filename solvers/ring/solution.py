"""Result of a ring search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

EndedBy = Literal["exact", "bound", "kicks", "time", "interrupt"]


@dataclass(frozen=True)
class RingSolution:
    """Ring and how it was found.

    Args:
        order: the hosts' indices around the ring, from the given order's first host.
        cost: sum of its hops, in the matrix's unit.
        lower_bound: no ring costs less.
        ended_by: `exact` (dynamic programming), `bound` (the cost meets the bound), `kicks` (so
            many in a row found nothing better), `time`, or `interrupt`.
        kicks: how often the search kicked a ring.
    """

    order: Sequence[int]
    cost: float
    lower_bound: float
    ended_by: EndedBy
    kicks: int
