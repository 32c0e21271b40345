"""Annealing courses with several temperatures, of which the best is continued."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers import _native
from plink.solvers.annealing.races import LEAST_HEAT, Falling, Race, between, leg_at
from plink.solvers.limits.deadline import Deadline

_Native = (
    _native.RoundsAnnealing
    | _native.TreesAnnealing
    | _native.HardRoundsAnnealing
    | _native.HardTreesAnnealing
)

# What the heat of the hard course is called.
_HARD = 0.0

# It begins with what random swaps change, and ends with such a share of it.
_HARD_SAMPLES = 1000
_HARD_COOLED = 1e-3
_HARD_MOVES = 2048


class HardCourse:
    """Annealing of the exact cost from a temperature at which random swaps are accepted.

    Args:
        native: what is annealed.
        unit: unit of heat, where no swap changes anything.
        seed: decides where it begins.
    """

    def __init__(
        self,
        native: _native.HardRoundsAnnealing | _native.HardTreesAnnealing,
        unit: float,
        *,
        seed: int,
    ) -> None:
        self.native = native
        self._rng = np.random.default_rng(seed)
        self._unit = unit
        self._hot = 0.0

    def begin(self) -> None:
        """Restart from a random order."""
        self.native.restart(self._rng.permutation(len(self.native.best)).tolist())
        change = self.native.mean_change(_HARD_SAMPLES)
        self._hot = change if change > LEAST_HEAT else self._unit

    def step(self, within: float, deadline: Deadline) -> int:
        """Try some moves at a point of the course from 0 to 1; return how many."""
        temperature = between(self._hot, _HARD_COOLED * self._hot, within)
        tried: int = self.native.run(_HARD_MOVES, temperature, deadline.native)
        return tried


class RacedCourse:
    """Race of annealing courses at several temperatures; the best one continues.

    Args:
        native: annealing of a smoothed cost.
        hard: annealing of the cost itself, if any.
        race: the heats, and what falls.
        start: an order.
        spread: the distances', the unit of heat.
        hotter: a factor of the first temperatures.
        moves: moves of one step.
    """

    def __init__(
        self,
        native: _native.RoundsAnnealing | _native.TreesAnnealing,
        hard: HardCourse | None,
        race: Race,
        start: Sequence[int],
        spread: float,
        *,
        hotter: float,
        moves: int,
    ) -> None:
        self._native = native
        self._hard = hard
        self._race = race if hard is not None else race.without_hard()
        self._shares = self._race.shares
        self._start = list(start)
        self._spread = spread
        first, last = race.falling.temperature
        self._falling = Falling(race.falling.softness, (hotter * first, last))
        self._moves = moves
        self._leg = 0
        # The least cost of each heat so far; the hard one is called 0.
        self._tried: list[tuple[float, float]] = []

    @property
    def best(self) -> list[int]:
        """Cheapest order so far."""
        return self._cheapest.best

    @property
    def best_cost(self) -> float:
        """Cost of the best order."""
        return self._cheapest.best_cost

    @property
    def _cheapest(self) -> _Native:
        if self._hard is None or self._native.best_cost <= self._hard.native.best_cost:
            return self._native
        return self._hard.native

    def step(self, progress: float, deadline: Deadline) -> int:
        """Try some moves; return how many.

        Args:
            progress: progress of all courses, from 0 to 1.
            deadline: none is tried beyond it.
        """
        leg, within = leg_at(progress, self._shares)
        if leg != self._leg:
            self._end_leg()
            self._leg = leg
            self._begin_leg()
        is_polish = leg == len(self._shares) - 1
        heat = self._heat(leg)
        if heat == _HARD and self._hard is not None and not is_polish:
            return self._hard.step(within, deadline)
        falling = self._race.polish if is_polish else self._falling
        unit = self._spread if is_polish else heat * self._spread
        tried: int = self._native.run(
            self._moves,
            between(*falling.softness, within) * unit,
            between(*falling.temperature, within) * unit,
            deadline.native,
        )
        return tried

    def _heat(self, leg: int) -> float:
        heats = (*self._race.heats, _HARD)
        return heats[leg] if leg < len(heats) else min(self._tried)[1]

    def _end_leg(self) -> None:
        if self._leg < len(self._race.heats):
            self._tried.append((self._native.current_cost, self._heat(self._leg)))
        elif self._leg == len(self._race.heats) and self._hard is not None:
            self._tried.append((self._hard.native.best_cost, _HARD))

    def _begin_leg(self) -> None:
        if self._leg == len(self._shares) - 1:
            self._native.restart(self.best)
        elif self._heat(self._leg) == _HARD and self._hard is not None:
            self._hard.begin()
        else:
            self._native.restart(self._start)
