"""Which part of the tournament a measurement went through, as its options record it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 1 << 63


@dataclass(frozen=True)
class RoundSample:
    """Some rounds of the tournament in place of all: the pairs of the others stay unmeasured.

    Args:
        rounds: how many were gone through.
        in_all: of how many.
        seed: which.
    """

    rounds: int
    in_all: int
    seed: int

    def to_options(self) -> dict[str, int]:
        """What the options of a measurement record."""
        return {"rounds": self.rounds, "rounds_in_all": self.in_all, "seed": self.seed}

    def __str__(self) -> str:
        return f"{self.rounds:,} of {self.in_all:,} rounds"


def recorded_sample(options: Mapping[str, Any]) -> RoundSample | None:
    """The sample that options record; None where all rounds were gone through."""
    values = [options.get(name) for name in ("rounds", "rounds_in_all", "seed")]
    rounds, in_all, seed = (value if type(value) is int else -1 for value in values)
    return RoundSample(rounds, in_all, seed) if 1 <= rounds < in_all and 0 <= seed < _MOST else None
