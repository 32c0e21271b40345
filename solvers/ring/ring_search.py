"""A cheap ring through all hosts, and a proof of how much cheaper it could be at most."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from solvers import _native
from solvers.ring import reference
from solvers.ring.solution import EndedBy, Progress, RingSolution

Matrix = npt.NDArray[np.float64]

MAX_EXACT_SIZE = 12

# One slice of native work: about how long an interrupt waits.
_SLICE_S = 0.05
_SLICE_WEIGHTS = 20_000_000

# The bound may use this share of the time. The search needs the candidates that come from it.
_BOUND_SHARE = 0.3

# Candidates for new edges per host, by alpha-nearness and by distance.
_BY_ALPHA = 5
_BY_DISTANCE = 3

# A chain of kicks ends when so many found nothing better; the search ends when so many chains in
# a row, each from another start, found nothing better than the best before.
_KICKS_PER_HOST = 20
_LEAST_KICKS = 200
_IDLE_CHAINS = 2

# Rings within this share of the bound are optimal for every purpose.
_RELATIVE_TOLERANCE = 1e-9


def search_ring(
    distance: Matrix,
    given: Sequence[int] | None = None,
    *,
    seed: int = 0,
    time_limit_s: float = 2.0,
    on_progress: Callable[[Progress], None] | None = None,
) -> RingSolution:
    """The cheapest ring found within a time limit, never dearer than the given one.

    Args:
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        given: a permutation of the N indices; 0 ... N-1 if None. Returned as it is where nothing
            cheaper is found.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the bound and the search together. An interrupt (Ctrl-C) ends them
            earlier, with the best so far.
        on_progress: called some twenty times a second.

    Raises:
        ValueError: a matrix or an order that is invalid, or a seed or time limit out of range.
    """
    matrix = _checked(distance)
    size = len(matrix)
    order = list(range(size)) if given is None else [int(city) for city in given]
    if sorted(order) != list(range(size)):
        raise ValueError(f"given is not a permutation of 0 to {size - 1}")
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"seed is {seed}, expected 0 to 2^63 - 1")
    if not time_limit_s > 0.0:
        raise ValueError(f"time_limit_s is {time_limit_s}, expected more than 0")
    if size <= MAX_EXACT_SIZE:
        return _exact(matrix, order)
    climb = _RingSearch(matrix, order, seed, time_limit_s, on_progress)
    try:
        ended_by = climb.run()
    except KeyboardInterrupt:
        ended_by = "interrupt"
    return climb.solution(ended_by)


def _checked(distance: Matrix) -> Matrix:
    matrix = np.ascontiguousarray(distance, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"distance has shape {matrix.shape}, expected (N, N)")
    if not np.isfinite(matrix).all() or (matrix < 0.0).any():
        raise ValueError("distance holds values that are negative or not finite")
    if np.diagonal(matrix).any() or (matrix != matrix.T).any():
        raise ValueError("distance is not symmetric with a zero diagonal")
    return matrix


def _exact(matrix: Matrix, given: list[int]) -> RingSolution:
    found = _native.cheapest_ring(matrix)
    cost = reference.ring_cost(matrix, found)
    given_cost = reference.ring_cost(matrix, given)
    if given_cost <= cost * (1.0 + _RELATIVE_TOLERANCE):
        found, cost = given, given_cost
    return RingSolution(_from_first(found, given[0]), cost, cost, "exact", 0)


def _from_first(order: Sequence[int], first: int) -> list[int]:
    """The same ring, begun at `first`."""
    start = list(order).index(first)
    return [*order[start:], *order[:start]]


def _nearest_neighbour_ring(matrix: Matrix, first: int) -> list[int]:
    order = [first]
    left = np.ones(len(matrix), dtype=bool)
    left[first] = False
    while left.any():
        order.append(int(np.where(left, matrix[order[-1]], np.inf).argmin()))
        left[order[-1]] = False
    return order


def _nearest(matrix: Matrix, count: int) -> list[list[int]]:
    """By host, the nearest others; ties go by the place after it, so that hosts share them out."""
    size = len(matrix)
    nearest: list[list[int]] = []
    for host in range(size):
        after = (host + np.arange(1, size)) % size
        places = np.argsort(matrix[host, after], kind="stable")[:count]
        nearest.append(after[places].tolist())
    return nearest


class _RingSearch:
    """One run: a quick ring, the bound and the candidates that come from it, then the search."""

    def __init__(
        self,
        matrix: Matrix,
        given: list[int],
        seed: int,
        time_limit_s: float,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._matrix = matrix
        self._given = given
        self._rng = np.random.default_rng(seed)
        self._on_progress = on_progress
        self._start = time.monotonic()
        self._limit_s = time_limit_s
        self._best = (reference.ring_cost(matrix, given), given)
        self._bound = 0.0
        self._kicks = 0

    def run(self) -> EndedBy:
        """Search until something ends it."""
        size = len(self._matrix)
        quick = _nearest_neighbour_ring(self._matrix, self._given[0])
        first = min(self._given, quick, key=lambda ring: reference.ring_cost(self._matrix, ring))
        self._chain(first, _nearest(self._matrix, _BY_ALPHA + _BY_DISTANCE), most_idle_kicks=0)
        candidates = self._prove()
        most_idle_kicks = max(_LEAST_KICKS, _KICKS_PER_HOST * size)
        start = self._best[1]
        idle_chains = -1
        while idle_chains < _IDLE_CHAINS:
            before = self._best[0]
            self._chain(start, candidates, most_idle_kicks)
            if self._is_optimal():
                return "bound"
            if self._left_s() <= 0.0:
                return "time"
            idle_chains = 0 if self._best[0] < before else idle_chains + 1
            start = _nearest_neighbour_ring(self._matrix, int(self._rng.integers(size)))
        return "kicks"

    def solution(self, ended_by: EndedBy) -> RingSolution:
        """The best so far."""
        cost, order = self._best
        return RingSolution(
            order=_from_first(order, self._given[0]),
            cost=cost,
            lower_bound=min(self._bound, cost),
            ended_by=ended_by,
            kicks=self._kicks,
        )

    def _prove(self) -> list[list[int]]:
        """Raise the lower bound; the candidates that its 1-tree suggests."""
        ascent = _native.Ascent(self._matrix, self._best[0])
        until_s = self._limit_s * (1.0 - _BOUND_SHARE)
        iterations = max(1, _SLICE_WEIGHTS // len(self._matrix) ** 2)
        is_final = False
        while not is_final and self._left_s() > until_s:
            is_final = ascent.run(iterations)
            self._bound = ascent.bound
            self._tell()
        return ascent.candidates(_BY_ALPHA, _BY_DISTANCE)

    def _chain(self, start: list[int], candidates: list[list[int]], most_idle_kicks: int) -> None:
        """Improve a ring, then kick it until so many kicks in a row found nothing better."""
        seed = int(self._rng.integers(1 << 63))
        enough = self._bound * (1.0 + _RELATIVE_TOLERANCE)
        search = _native.Search(self._matrix, candidates, start, seed, enough)
        before = self._kicks
        while True:
            search.run(most_idle_kicks - search.idle_kicks, min(_SLICE_S, self._left_s()))
            self._kicks = before + search.kicks
            if search.best_cost < self._best[0] * (1.0 - _RELATIVE_TOLERANCE):
                self._best = (reference.ring_cost(self._matrix, search.best), search.best)
            self._tell()
            is_done = search.is_settled and (
                search.is_enough or search.idle_kicks >= most_idle_kicks
            )
            if is_done or self._left_s() <= 0.0:
                return

    def _is_optimal(self) -> bool:
        return self._best[0] <= self._bound * (1.0 + _RELATIVE_TOLERANCE)

    def _left_s(self) -> float:
        return self._start + self._limit_s - time.monotonic()

    def _tell(self) -> None:
        if self._on_progress is not None:
            seconds = time.monotonic() - self._start
            self._on_progress(Progress(seconds, self._best[0], self._bound))
