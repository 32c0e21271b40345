"""The search for orders whose rounds are cheap, as a course of annealing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers import _native
from solvers.collectives.form import RoundsForm

Matrix = npt.NDArray[np.float64]

# Of one step: so many a rank, but for many ranks.
_MOVES_PER_RANK = 128
_MOST_MOVES = 8192


@dataclass(frozen=True)
class _Leg:
    """A part of the course, from the cheapest order so far, with heat that falls geometrically.

    Args:
        share: of the whole course.
        softness: of the maximum, from and to, in spreads of the distances.
        temperature: from, in spreads over a round's edges: a maximum that is as soft as the
            distances spread weighs every edge with one over their number; to, in spreads.
    """

    share: float
    softness: tuple[float, float]
    temperature: tuple[float, float]


# A cold leg polishes the racks and rows that the start has; a hot one forgets most of them, and
# finds others that suit ranks better where racks are of unequal sizes. Neither is better
# everywhere. Of some thirty courses this one did best on data centres of 256 hosts in a second.
_COURSE = (
    _Leg(0.25, softness=(1.3, 1 / 30), temperature=(0.8, 1 / 450)),
    _Leg(0.75, softness=(1.5, 1 / 30), temperature=(1.6, 1 / 400)),
)

# Temperatures are higher at first among few ranks, where there is no way around a dear order.
_FEW_RANKS = 32


class RoundsCourse:
    """A course of annealing, to be run step by step.

    Args:
        form: at least one round with an edge, over at least 3 ranks.
        distance: (N, N), C-contiguous.
        order: where it starts.
        spread: the distances', the unit of heat.
        seed: decides every choice by chance.
    """

    def __init__(
        self, form: RoundsForm, distance: Matrix, order: Sequence[int], spread: float, seed: int
    ) -> None:
        rounds = [step for step in form.rounds if len(step.edges) > 0 and step.weight > 0.0]
        edges = [list(map(tuple, _distinct(step.edges).tolist())) for step in rounds]
        self._native = _native.RoundsAnnealing(
            distance, edges, [step.weight for step in rounds], list(order), seed
        )
        self._spread = spread
        self._edges = sum(map(len, edges)) / len(edges)
        self._hotter = 1.0 + _FEW_RANKS / form.ranks
        self._moves = min(_MOST_MOVES, _MOVES_PER_RANK * form.ranks)
        self._leg = 0

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
        number, within = _leg_at(progress)
        leg = _COURSE[number]
        if number != self._leg:
            self._leg = number
            self._native.restart(self.best)
        softness = _between(*leg.softness, within) * self._spread
        first, last = leg.temperature
        temperature = _between(self._hotter * first / self._edges, last, within) * self._spread
        self._native.run(self._moves, softness, temperature)
        return self._moves


def _distinct(edges: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Each pair of ranks once."""
    return np.unique(np.sort(edges, axis=1), axis=0)


def _leg_at(progress: float) -> tuple[int, float]:
    """Which leg, and how far in it."""
    before = 0.0
    for number, leg in enumerate(_COURSE):
        if progress < before + leg.share:
            return number, (progress - before) / leg.share
        before += leg.share
    return len(_COURSE) - 1, 1.0


def _between(first: float, last: float, share: float) -> float:
    return float(first * (last / first) ** share)
