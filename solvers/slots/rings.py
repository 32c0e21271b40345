"""Search for the cheapest ring through a subset of the hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.annealing.courses import spread
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.orders.clusters import order_by_clusters
from plink.solvers.orders.solution import EndedBy, OrderSolution
from plink.solvers.ring.ring_search import search_ring
from plink.solvers.slots.bound import subset_ring_bound
from plink.solvers.slots.layout import RankLayout

Matrix = npt.NDArray[np.float64]
Ring = list[int]

MAX_EXACT_HOSTS = 16

# Moves of the first chain for each host of the ring; each further pair of chains has twice as many.
_MOVES_PER_HOST = 2000
_STAGES = 60

# In spreads of the distances: where a chain from a chosen start begins and ends, and one from the
# best ring so far.
_HOT, _WARM, _COLD = 1.5, 0.3, 1 / 100

_IDLE_CHAINS = 6
# The share of the time that is left for the polish of one chain's ring.
_POLISH_SHARE = 0.3

# The most that the bound may take, and then the order to begin with.
_BOUND_SHARE, _START_SHARE = 0.2, 0.3

_RELATIVE_TOLERANCE = 1e-9


def solve_subset_ring(
    distance: Matrix,
    layout: RankLayout,
    given: Sequence[int],
    *,
    seed: int,
    deadline: Deadline,
    on_progress: Callable[[SearchProgress], None] | None = None,
) -> OrderSolution:
    """Return the cheapest ring through as many hosts as are needed, with equal slots.

    Up to 16 hosts by dynamic programming. Else chains of annealing, in which hosts of the ring and
    others change places, and after each the search for the nearest ring through those it chose.

    Args:
        distance: (H, H), symmetric, zero diagonal.
        layout: even; it does not need all hosts.
        given: a permutation of the hosts.
        seed: decides every choice by chance.
        deadline: an interrupt (Ctrl-C) ends the search earlier, with the best so far.
        on_progress: called after each chain.

    Returns:
        a permutation of all hosts, of which the first are the ring; `given` where nothing cheaper
        was found.
    """
    count = layout.fewest_hosts
    first = list(given[:count])
    cost = ring_cost(distance, first) if count > 1 else 0.0
    if cost == 0.0:
        return OrderSolution(list(given), 0.0, 0.0, "exact", 0)
    if count == 2 or len(distance) <= MAX_EXACT_HOSTS:
        ring = _nearest_pair(distance) if count == 2 else _exact(distance, count)
        exact = ring_cost(distance, ring)
        if cost <= exact * (1.0 + _RELATIVE_TOLERANCE):
            ring, exact = first, cost
        return OrderSolution(_with_others(ring, given), exact, exact, "exact", 0)
    climb = _SubsetRingSearch(
        distance, layout, first, seed=seed, deadline=deadline, on_progress=on_progress
    )
    try:
        ended_by = climb.run()
    except KeyboardInterrupt:
        ended_by = "interrupt"
    best, ring = climb.best
    bound = min(best, climb.bound)
    return OrderSolution(_with_others(ring, given), best, bound, ended_by, climb.moves)


def _nearest_pair(distance: Matrix) -> Ring:
    between = distance + np.diag(np.full(len(distance), np.inf))
    return [int(host) for host in np.unravel_index(int(between.argmin()), between.shape)]


def _exact(distance: Matrix, count: int) -> Ring:
    return _native.cheapest_subset_ring(np.ascontiguousarray(distance), count)


def _with_others(ring: Sequence[int], given: Sequence[int]) -> list[int]:
    """Return the ring rotated to the first host in `given`, then the unused hosts."""
    place = {host: number for number, host in enumerate(given)}
    start = min(range(len(ring)), key=lambda at: place[ring[at]])
    inside = set(ring)
    return [*ring[start:], *ring[:start], *(host for host in given if host not in inside)]


class _SubsetRingSearch:
    """Search for a ring through a subset of the hosts."""

    def __init__(
        self,
        distance: Matrix,
        layout: RankLayout,
        first: Ring,
        *,
        seed: int,
        deadline: Deadline,
        on_progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self._deadline = deadline
        self._limit_s = deadline.left_s
        self._distance = np.ascontiguousarray(distance)
        self._count = len(first)
        self._unit = spread(distance)
        self._rng = np.random.default_rng(seed)
        self._on_progress = on_progress
        self.best = (ring_cost(distance, first), first)
        self._layout = layout
        self.bound = 0.0
        self.moves = 0

    def run(self) -> EndedBy:
        """Run chains until something ends them; return what did."""
        self.bound = subset_ring_bound(
            self._distance, self._layout, self._deadline.part(_BOUND_SHARE)
        )
        leaves = order_by_clusters(self._distance, self._deadline.part(_START_SHARE))
        self._polish(_best_window(self._distance, leaves, self._count))
        moves = _MOVES_PER_HOST * self._count
        idle, number = 0, 0
        while idle < _IDLE_CHAINS:
            if self.best[0] <= self.bound * (1.0 + _RELATIVE_TOLERANCE):
                return "bound"
            if self._deadline.is_over:
                return "time"
            before = self.best[0]
            is_warm = number % 2 == 1
            start = self.best[1] if is_warm or number == 0 else self._rotate(leaves)
            self._polish(self._chain(start, moves, _WARM if is_warm else _HOT))
            idle = 0 if self.best[0] < before else idle + 1
            number += 1
            if number % 2 == 0:
                moves *= 2
        return "steps"

    def _rotate(self, leaves: Ring) -> Ring:
        start = int(self._rng.integers(len(leaves)))
        return [*leaves[start:], *leaves[:start]][: self._count]

    def _chain(self, start: Ring, moves: int, hot: float) -> Ring:
        """Anneal a ring with some moves at every temperature of a falling series."""
        seed = int(self._rng.integers(1 << 63))
        try:
            search = _native.SubsetAnnealing(self._distance, start, seed, self._deadline.native)
        except TimeoutError:
            return start
        stage_moves = max(1, moves // _STAGES)
        for temperature in np.geomspace(hot, _COLD, _STAGES) * self._unit:
            self.moves += search.run(stage_moves, float(temperature), self._deadline.native)
            if self._deadline.is_over:
                break
        return search.ring

    def _polish(self, ring: Ring) -> None:
        """Shorten the ring through the same hosts; keep it if it is the cheapest."""
        left_s = self._deadline.left_s
        within = self._distance[np.ix_(ring, ring)]
        if left_s > 0.0:
            limit_s = _POLISH_SHARE * left_s
            found = search_ring(within, seed=0, time_limit_s=limit_s)
            if found.ended_by == "interrupt":
                raise KeyboardInterrupt
            ring = [ring[place] for place in found.order]
        cost = ring_cost(self._distance, ring)
        if cost < self.best[0] * (1.0 - _RELATIVE_TOLERANCE):
            self.best = (cost, ring)
        if self._on_progress is not None:
            seconds = self._limit_s - self._deadline.left_s
            self._on_progress(SearchProgress(seconds, self.best[0], self.bound))


def _best_window(distance: Matrix, leaves: Ring, count: int) -> Ring:
    """Return the cheapest ring of adjacent hosts in a circle of all hosts."""
    around = np.array([*leaves, *leaves])
    steps = np.concatenate([[0.0], np.cumsum(distance[around[:-1], around[1:]])])
    start = np.arange(len(leaves))
    last = start + count - 1
    costs = steps[last] - steps[start] + distance[around[last], around[start]]
    best = int(costs.argmin())
    ring: Ring = around[best : best + count].tolist()
    return ring
