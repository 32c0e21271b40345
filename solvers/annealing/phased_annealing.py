"""Simulated annealing of rank orders in phases: trials of temperatures, runs, a polish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.form import (
    MeshForm,
    RoundsForm,
    TreesForm,
    distinct_pairs,
    merge_rounds,
)
from plink.solvers.distances import sample_pairs
from plink.solvers.limits import Deadline

Matrix = npt.NDArray[np.float64]

# `RoundsAnnealing`, `LocalRoundsAnnealing` (of a mesh) or `TreesAnnealing`.
_Native: TypeAlias = Any

# A spread of less is 0.
_LEAST_SPREAD = 1e-290

# Of more hosts, the spread of distances is told from so many pairs of each.
_MOST_WITH_ALL_PAIRS = 1024
_PAIRS_A_HOST = 64

# Moves of one step: so many for each rank, but fewer for many ranks.
_ROUNDS_MOVES_PER_RANK, _ROUNDS_MOST_MOVES = 128, 8192
_TREES_MOVES_PER_RANK, _TREES_MOST_MOVES = 64, 4096

_MESH_MOVES_PER_RANK, _MESH_MOST_MOVES = 128, 16384

# Temperatures are higher at first among few ranks, where there is no way around a dear order.
_FEW_RANKS = 32


@dataclass(frozen=True)
class Cooling:
    """First and last temperature and softness (of maxima) of an annealing run; both fall."""

    softness: tuple[float, float]
    temperature: tuple[float, float]


@dataclass(frozen=True)
class AnnealingSchedule:
    """Settings of phased annealing: trials at several temperatures, runs at the best one, a polish.

    Where hosts stand in racks, a cold trial polishes those that the start has; where few outliers
    make the cost, all but a hot one is stuck. The factor that found the cheapest order is run some
    times from the start again, as much of what a run ends in is chance. The rest of the time
    polishes the best order.

    Args:
        factors: factors of softness and temperature, one for each trial.
        trial: share of the time for each trial.
        runs: shares of the time for the runs with the best trial's factor.
        cooling: softness and temperature of trials and runs.
        polish: softness and temperature of the polish.
    """

    factors: tuple[float, ...]
    trial: float
    runs: tuple[float, ...]
    cooling: Cooling
    polish: Cooling

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of the time for each trial, each run at the best temperature, and the polish."""
        before = (*(self.trial for _ in self.factors), *self.runs)
        return (*before, 1.0 - sum(before))


# A temperature of rounds begins in spreads over a round's edges: a maximum that is as soft as the
# distances spread weighs every edge with one over their number.
ROUNDS = AnnealingSchedule(
    factors=(0.5, 1.0, 2.0, 6.0),
    trial=0.08,
    runs=(0.36, 0.22),
    cooling=Cooling((1.5, 1 / 30), (1.6, 1 / 400)),
    polish=Cooling((1 / 30, 1 / 1000), (1 / 200, 1 / 10000)),
)
TREES = AnnealingSchedule(
    factors=(1.0, 3.0),
    trial=0.12,
    runs=(0.41, 0.25),
    cooling=Cooling((0.5, 1 / 50), (0.3, 1 / 400)),
    polish=Cooling((1 / 50, 1 / 200), (1 / 400, 1 / 4000)),
)


def _build_mesh_schedule(hot: float, cold: float) -> AnnealingSchedule:
    """Return a mesh's annealing phases: one run, a polish, temperatures in the distances' unit.

    Args:
        hot: what a rank exchanges in the mean, times the spread of the distances.
        cold: the least weight of a round, likewise.
    """
    return AnnealingSchedule(
        factors=(),
        trial=0.0,
        runs=(0.5,),
        cooling=Cooling((1.0, 1.0), (max(0.1 * hot, cold / 3), cold / 3)),
        polish=Cooling((1.0, 1.0), (max(0.3 * hot, cold / 4), cold / 4)),
    )


def find_phase(progress: float, shares: Sequence[float]) -> tuple[int, float]:
    """Return the index of an annealing's phase at a progress of 0 to 1, and the progress in it."""
    before = 0.0
    for number, share in enumerate(shares):
        if progress < before + share:
            return number, (progress - before) / share
        before += share
    return len(shares) - 1, 1.0


def _interpolate(first: float, last: float, share: float) -> float:
    """Interpolate geometrically between two values by a share from 0 to 1."""
    return float(first * (last / first) ** share)


def build_annealing(
    form: RoundsForm | TreesForm,
    distance: Matrix,
    order: Sequence[int],
    spread: float,
    *,
    seed: int,
    deadline: Deadline,
) -> PhasedAnnealing:
    """Return an annealing run, ready to be advanced, that lowers an algorithm's latency cost.

    Args:
        form: at least one tree, or a round with an edge, over at least 3 ranks.
        distance: (N, N), C-contiguous.
        order: where it starts.
        spread: spread of the distances, the unit of softness and temperature.
        seed: decides every choice by chance.
        deadline: for making it ready.

    Raises:
        TimeoutError: the time did not suffice.
    """
    rest = list(order), seed, deadline
    if isinstance(form, TreesForm):
        return PhasedAnnealing(
            _native.TreesAnnealing(distance, [tree.tolist() for tree in form.parents], *rest),
            TREES,
            order,
            spread,
            hotter=max(1.0, _FEW_RANKS / form.ranks),
            moves=min(_TREES_MOST_MOVES, _TREES_MOVES_PER_RANK * form.ranks),
        )
    # Every unordered pair of ranks once, and only rounds that count.
    rounds = [step for step in form.rounds if len(step.edges) > 0 and step.weight > 0.0]
    if isinstance(form, MeshForm):
        rounds = list(merge_rounds(form).rounds)
    edges = [
        np.ascontiguousarray(distinct_pairs(step.edges, form.ranks), dtype=np.int64)
        for step in rounds
    ]
    weights = [step.weight for step in rounds]
    if isinstance(form, MeshForm):
        return PhasedAnnealing(
            _native.LocalRoundsAnnealing(distance, edges, weights, *rest),
            _build_mesh_schedule(2.0 * sum(weights) / form.ranks * spread, min(weights) * spread),
            order,
            1.0,
            hotter=1.0,
            moves=min(_MESH_MOST_MOVES, _MESH_MOVES_PER_RANK * form.ranks),
        )
    per_round = sum(map(len, edges)) / len(edges)
    return PhasedAnnealing(
        _native.RoundsAnnealing(distance, edges, weights, *rest),
        ROUNDS,
        order,
        spread,
        hotter=(1.0 + _FEW_RANKS / form.ranks) / per_round,
        moves=min(_ROUNDS_MOST_MOVES, _ROUNDS_MOVES_PER_RANK * form.ranks),
    )


class PhasedAnnealing:
    """Annealing in phases: a trial at each of several temperatures, runs at the best one, a polish.

    Args:
        native: annealing of a smoothed cost.
        schedule: the phases, with their temperatures.
        start: order to begin with.
        spread: spread of the distances, the unit of softness and temperature.
        hotter: factor of the first temperatures.
        moves: moves of one step.
    """

    def __init__(
        self,
        native: _Native,
        schedule: AnnealingSchedule,
        start: Sequence[int],
        spread: float,
        *,
        hotter: float,
        moves: int,
    ) -> None:
        self._native = native
        self._schedule = schedule
        self._start = list(start)
        self._spread = spread
        first, last = schedule.cooling.temperature
        self._cooling = Cooling(schedule.cooling.softness, (hotter * first, last))
        self._moves = moves
        self._phase = 0
        # The cost that each trial ended with, and its factor.
        self._tried: list[tuple[float, float]] = []

    @property
    def best(self) -> list[int]:
        """Cheapest rank order found so far."""
        best: list[int] = self._native.best
        return best

    @property
    def best_cost(self) -> float:
        """Cost of the cheapest rank order found so far."""
        return float(self._native.best_cost)

    def step(self, progress: float, deadline: Deadline) -> int:
        """Try some moves of the annealing; return how many were tried.

        Args:
            progress: progress of the whole annealing, from 0 to 1.
            deadline: none is tried beyond it.
        """
        schedule = self._schedule
        phase, within = find_phase(progress, schedule.shares)
        is_polish = phase == len(schedule.shares) - 1
        if phase != self._phase:
            if self._phase < len(schedule.factors):
                self._tried.append((self._native.current_cost, schedule.factors[self._phase]))
            self._phase = phase
            self._native.restart(self.best if is_polish else self._start)
        cooling, factor = self._cooling, 1.0
        if is_polish:
            cooling = schedule.polish
        elif schedule.factors:
            is_trial = phase < len(schedule.factors)
            factor = schedule.factors[phase] if is_trial else min(self._tried)[1]
        tried: int = self._native.run(
            self._moves,
            _interpolate(*cooling.softness, within) * factor * self._spread,
            _interpolate(*cooling.temperature, within) * factor * self._spread,
            deadline,
        )
        return tried


def spread(distance: npt.NDArray[np.float64]) -> float:
    """Return half the distance between the 10th and 90th percentile of (N, N) distances.

    For normally distributed ones it is 1.28 standard deviations; outliers do not move it. Where so
    many are equal that it would be 0, half of the whole range; where all are, or nearly so, 1. The
    spread of very many distances is that of a sample.
    """
    if len(distance) <= _MOST_WITH_ALL_PAIRS:
        values = distance[np.triu_indices(len(distance), 1)]
    else:
        values = sample_pairs(distance, _PAIRS_A_HOST)
    low, high = np.percentile(values, [10.0, 90.0])
    if high <= low:
        low, high = values.min(), values.max()
    half = float(high - low) / 2.0
    return half if half > _LEAST_SPREAD else 1.0
