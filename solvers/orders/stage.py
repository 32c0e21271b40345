"""What an engine answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Where a search for a cheaper order ended.

    Args:
        order: the cheapest that was found, or None.
        bound: every order costs at least so much; in whole units if the engine counts in them.
        is_final: no order is cheaper than `order`; than what was asked for, where that is None.
    """

    order: Sequence[int] | None
    bound: float
    is_final: bool
