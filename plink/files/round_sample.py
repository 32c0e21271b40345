"""Which pairs a measurement went through where not all, as its options record it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plink.files.document import finite_number

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


@dataclass(frozen=True)
class FollowedSample:
    """Pairs that were chosen by what the readings before showed.

    Args:
        share: of all pairs, at most so many.
        seed: of what chance decides.
    """

    share: float
    seed: int

    def to_options(self) -> dict[str, float | int]:
        """What the options of a measurement record."""
        return {"share": self.share, "seed": self.seed}

    def __str__(self) -> str:
        return f"by what readings showed, at most {100.0 * self.share:.3g} % of the pairs"


Sample = RoundSample | FollowedSample
# Every option that a sample records.
SAMPLE_OPTIONS = ("rounds", "rounds_in_all", "share", "seed")


def recorded_sample(options: Mapping[str, Any]) -> Sample | None:
    """The sample that options record; None where all rounds were gone through."""
    values = [options.get(name) for name in ("rounds", "rounds_in_all", "seed")]
    rounds, in_all, seed = (value if type(value) is int else -1 for value in values)
    share = finite_number(options.get("share"))
    if not 0 <= seed < _MOST:
        return None
    if share is not None and 0.0 < share <= 1.0:
        return FollowedSample(share, seed)
    return RoundSample(rounds, in_all, seed) if 1 <= rounds < in_all else None
