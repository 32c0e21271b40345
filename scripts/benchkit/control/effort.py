"""How much the points of training-control measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """For all points alike.

    Args:
        seed: of what is drawn.
        scale: of every tensor's length, where tensors are those of a network.
        iterations: in mode `tree`.
        fewer_iterations: in other modes, which need more time.
        ranks: numbers of ranks between which loads are compared.
        load_iterations: of each.
        repetitions: of a lone tensor.
        rounds: of trainings, each way once in each.
        steps: in a row, in every round.
        late_iterations: of ranks whose control threads sleep too long.
    """

    seed: int
    scale: float
    iterations: int
    fewer_iterations: int
    ranks: Sequence[int]
    load_iterations: int
    repetitions: int
    rounds: int
    steps: int
    late_iterations: int
