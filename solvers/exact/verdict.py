"""What an exact engine tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Engine = Literal["brute-force", "cp-sat", "z3"]
Outcome = Literal["improved", "optimal", "gave-up"]


@dataclass(frozen=True)
class Verdict:
    """Where an engine ended.

    Args:
        outcome: `optimal`: no order costs less than `order`, but for the tolerance. `improved`:
            `order` is cheaper than the incumbent, and a cheaper one may exist. `gave-up`: neither.
        order: the cheapest known, `order[rank]` = host; the incumbent if nothing cheaper was found.
        cost: of `order`, in the matrix's unit.
        lower_bound: no order costs less.
        seconds: what the proof took.
    """

    outcome: Outcome
    order: Sequence[int]
    cost: float
    lower_bound: float
    seconds: float
