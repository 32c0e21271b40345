"""How much the points of training-control-simulated measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """For all points alike.

    Args:
        seed: of what is drawn.
        real_ranks: numbers of ranks on this machine.
        repetitions: of a lone tensor.
        ranks: of strategies against oversleep.
        iterations: of trainings, beside a first.
        scale_ranks: at scale.
        scale_iterations: of these.
    """

    seed: int
    real_ranks: Sequence[int]
    repetitions: int
    ranks: int
    iterations: int
    scale_ranks: int
    scale_iterations: int
