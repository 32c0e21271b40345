"""How much the points of training-control measure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """For all points alike.

    Args:
        seed: of what is drawn.
        scale: of every tensor's length, where tensors are those of a network.
        iterations: in mode `tree`.
        fewer_iterations: in other modes, which need more time.
    """

    seed: int
    scale: float
    iterations: int
    fewer_iterations: int
