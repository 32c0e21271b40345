"""What a lower bound tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["held-karp", "threshold-graphs", "priced-trees", "trivial"]


@dataclass(frozen=True)
class Bound:
    """No order costs less.

    Args:
        value: in the matrix's unit.
        kind: what proves it: `held-karp` (1-trees under penalties), `threshold-graphs` (what the
            graph of short pairs must hold), `priced-trees` (trees that may use a host more than
            once, at a price), or `trivial` (there is nothing to sum).
    """

    value: float
    kind: Kind
