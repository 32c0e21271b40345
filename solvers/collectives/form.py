"""What the latency form of an algorithm's cost sums up (Luo 2020, §5.2.1, without bandwidth)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class RingForm:
    """The sum of the distances from each rank to the next, from the last to the first."""

    ranks: int


@dataclass(frozen=True)
class WeightedRound:
    """Messages of one round.

    Args:
        edges: (E, 2) pairs of ranks.
        weight: how often the round counts.
    """

    edges: npt.NDArray[np.intp]
    weight: float = 1.0


@dataclass(frozen=True)
class RoundsForm:
    """The sum over rounds of weight times the greatest distance of the round's edges."""

    ranks: int
    rounds: Sequence[WeightedRound]


@dataclass(frozen=True)
class TreesForm:
    """Over all trees, the greatest sum of distances from the root to a leaf.

    Args:
        parents: a tree each: (N,) the parent of every rank, -1 for the root, -2 for a rank that is
            idle: in no tree.
    """

    ranks: int
    parents: Sequence[npt.NDArray[np.intp]]


Form: TypeAlias = RingForm | RoundsForm | TreesForm
