"""Progress report of a search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchProgress:
    """Progress of a search: elapsed seconds, cheapest cost so far, proven bound so far."""

    seconds: float
    cost: float
    lower_bound: float
