"""Annealing courses for forms of rounds and of trees, with their temperature schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.annealing.raced_course import HardCourse, RacedCourse
from plink.solvers.annealing.races import LEAST_HEAT, ROUNDS, TREES, TREES_OF_FEW, between, leg_at
from plink.solvers.collectives.form import (
    MeshForm,
    RoundsForm,
    TreesForm,
    distinct_pairs,
    merge_rounds,
)
from plink.solvers.limits.deadline import Deadline

Matrix = npt.NDArray[np.float64]

# Of more hosts, the spread of distances is told from so many pairs of each.
_MOST_WITH_ALL_PAIRS = 1024
_PAIRS_A_HOST = 64

# Moves of one step: so many for each rank, but fewer for many ranks.
_ROUNDS_MOVES_PER_RANK, _ROUNDS_MOST_MOVES = 128, 8192
_TREES_MOVES_PER_RANK, _TREES_MOST_MOVES = 64, 4096

# Among more ranks a hard course finds nothing that others do not.
_MOST_HARD = 512

# The same for a mesh: temperatures, from the mean weight of all that a rank exchanges, and to the
# weight of the round that has least, in spreads of the distances.
_MESH_MOVES_PER_RANK, _MESH_MOST_MOVES = 128, 16384
_MESH_COURSE = ((0.5, 0.1, 1 / 3), (0.5, 0.3, 1 / 4))

# Temperatures are higher at first among few ranks, where there is no way around a dear order.
_FEW_RANKS = 32


class Course(Protocol):
    """Simulated annealing that is advanced step by step."""

    @property
    def best(self) -> list[int]:
        """Cheapest order so far."""

    @property
    def best_cost(self) -> float:
        """Cost of the best order."""

    def step(self, progress: float, deadline: Deadline) -> int:
        """Try some moves; return how many.

        Args:
            progress: progress of the course, from 0 to 1.
            deadline: none is tried beyond it.
        """


def course(
    form: RoundsForm | TreesForm,
    distance: Matrix,
    order: Sequence[int],
    spread: float,
    *,
    seed: int,
    deadline: Deadline,
) -> Course:
    """Return an annealing course for a form.

    Args:
        form: at least one tree, or a round with an edge, over at least 3 ranks.
        distance: (N, N), C-contiguous.
        order: where it starts.
        spread: the distances', the unit of heat.
        seed: decides every choice by chance.
        deadline: for making it ready.

    Raises:
        TimeoutError: the time did not suffice.
    """
    if isinstance(form, MeshForm):
        return _MeshCourse(form, distance, order, spread, seed=seed, deadline=deadline)
    if isinstance(form, RoundsForm):
        return _rounds_course(form, distance, order, spread, seed=seed, deadline=deadline)
    return _trees_course(form, distance, order, spread, seed=seed, deadline=deadline)


def _rounds_course(
    form: RoundsForm,
    distance: Matrix,
    order: Sequence[int],
    spread: float,
    *,
    seed: int,
    deadline: Deadline,
) -> RacedCourse:
    rounds = [step for step in form.rounds if len(step.edges) > 0 and step.weight > 0.0]
    edges = [_distinct(step.edges) for step in rounds]
    weights = [step.weight for step in rounds]
    native = _native.RoundsAnnealing(distance, edges, weights, list(order), seed, deadline.native)
    per_round = sum(map(len, edges)) / len(edges)
    hard = None
    if form.ranks <= _MOST_HARD:
        annealing = _native.HardRoundsAnnealing(
            distance, edges, weights, list(order), seed, deadline.native
        )
        hard = HardCourse(annealing, spread, seed=seed)
    return RacedCourse(
        native,
        hard,
        ROUNDS,
        order,
        spread,
        hotter=(1.0 + _FEW_RANKS / form.ranks) / per_round,
        moves=min(_ROUNDS_MOST_MOVES, _ROUNDS_MOVES_PER_RANK * form.ranks),
    )


def _trees_course(
    form: TreesForm,
    distance: Matrix,
    order: Sequence[int],
    spread: float,
    *,
    seed: int,
    deadline: Deadline,
) -> RacedCourse:
    parents = [tree.tolist() for tree in form.parents]
    native = _native.TreesAnnealing(distance, parents, list(order), seed, deadline.native)
    hard = None
    is_few = form.ranks <= _FEW_RANKS
    if not is_few and form.ranks <= _MOST_HARD:
        annealing = _native.HardTreesAnnealing(
            distance, parents, list(order), seed, deadline.native
        )
        hard = HardCourse(annealing, spread, seed=seed)
    return RacedCourse(
        native,
        hard,
        TREES_OF_FEW if is_few else TREES,
        order,
        spread,
        hotter=max(1.0, _FEW_RANKS / form.ranks),
        moves=min(_TREES_MOST_MOVES, _TREES_MOVES_PER_RANK * form.ranks),
    )


class _MeshCourse:
    def __init__(
        self,
        form: MeshForm,
        distance: Matrix,
        order: Sequence[int],
        spread: float,
        *,
        seed: int,
        deadline: Deadline,
    ) -> None:
        rounds = merge_rounds(form).rounds
        edges = [np.ascontiguousarray(step.edges, dtype=np.int64) for step in rounds]
        weights = [step.weight for step in rounds]
        self._native = _native.LocalRoundsAnnealing(
            distance,
            edges,
            weights,
            [list(map(list, level)) for level in form.blocks],
            list(order),
            seed,
            deadline.native,
        )
        self._moves = min(_MESH_MOST_MOVES, _MESH_MOVES_PER_RANK * form.ranks)
        self._hot = 2.0 * sum(weights) / form.ranks * spread
        self._cold = min(weights) * spread
        self._leg = 0

    @property
    def best(self) -> list[int]:
        return self._native.best

    @property
    def best_cost(self) -> float:
        return self._native.best_cost

    def step(self, progress: float, deadline: Deadline) -> int:
        number, within = leg_at(progress, [share for share, _, _ in _MESH_COURSE])
        if number != self._leg:
            self._leg = number
            self._native.restart(self.best)
        _, first, last = _MESH_COURSE[number]
        hot = max(first * self._hot, last * self._cold)
        temperature = between(hot, last * self._cold, within)
        tried: int = self._native.run(self._moves, temperature, deadline.native)
        return tried


def _distinct(edges: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Return each unordered pair of ranks once."""
    return np.ascontiguousarray(distinct_pairs(edges, int(edges.max()) + 1), dtype=np.int64)


def spread(distance: npt.NDArray[np.float64]) -> float:
    """Return half the distance between the 10th and 90th percentile of (N, N) distances.

    For normally distributed ones it is 1.28 standard deviations; outliers do not move it. Where so
    many are equal that it would be 0, half of the whole range; where all are, or nearly so, 1. The
    spread of very many distances is that of a sample.
    """
    values = _sample_distances(distance)
    low, high = np.percentile(values, [10.0, 90.0])
    if high <= low:
        low, high = values.min(), values.max()
    half = float(high - low) / 2.0
    return half if half > LEAST_HEAT else 1.0


def _sample_distances(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the distances of all pairs, or of a sample per host if there are very many."""
    size = len(distance)
    if size <= _MOST_WITH_ALL_PAIRS:
        return distance[np.triu_indices(size, 1)]
    hosts = np.arange(size)[:, None]
    steps = np.linspace(1, size // 2, _PAIRS_A_HOST).astype(np.intp)
    sample: npt.NDArray[np.float64] = distance[hosts, (hosts + steps) % size].ravel()
    return sample
