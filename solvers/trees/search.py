"""The search for orders whose trees are shallow, as a course of annealing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from solvers import _native
from solvers.collectives.form import TreesForm

Matrix = npt.NDArray[np.float64]

# Of one step: so many a rank, but for many ranks.
_MOVES_PER_RANK = 64
_MOST_MOVES = 4096

# In spreads of the distances, falling geometrically: up to so many ranks. Few ranks have few good
# orders, each hard to leave.
_TEMPERATURES = ((12, (1.0, 1 / 20)), (24, (1 / 3, 1 / 50)))
# Of more ranks; so many have twice the first of these.
_FIRST, _LAST = 1 / 9, 1 / 150
_DOUBLY_HOT_RANKS = 32


class TreesCourse:
    """A course of annealing, to be run step by step.

    Args:
        form: at least one tree, over at least 3 ranks.
        distance: (N, N), C-contiguous.
        order: where it starts.
        spread: the distances', the unit of heat.
        seed: decides every choice by chance.
    """

    def __init__(
        self, form: TreesForm, distance: Matrix, order: Sequence[int], spread: float, seed: int
    ) -> None:
        parents = [tree.tolist() for tree in form.parents]
        self._native = _native.TreesAnnealing(distance, parents, list(order), seed)
        self._spread = spread
        self._moves = min(_MOST_MOVES, _MOVES_PER_RANK * form.ranks)
        of_many = (_FIRST * (1.0 + _DOUBLY_HOT_RANKS / form.ranks), _LAST)
        self._temperature = next(
            (falling for most, falling in _TEMPERATURES if form.ranks <= most), of_many
        )

    @property
    def best(self) -> list[int]:
        """The cheapest order so far."""
        return self._native.best

    @property
    def best_cost(self) -> float:
        """What it costs."""
        return self._native.best_cost

    def step(self, progress: float) -> int:
        """Try some moves; returns how many.

        Args:
            progress: of the course, from 0 to 1.
        """
        first, last = self._temperature
        self._native.run(self._moves, first * (last / first) ** progress * self._spread)
        return self._moves
