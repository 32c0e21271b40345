"""Search for the cheapest ring through a subset of the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.annealing.phased_annealing import spread
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.linkages import order_by_clusters
from plink.solvers.ring.ring_search import search_ring
from plink.solvers.search import EndedBy, Search, SearchOptions, Solution
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


def solve_subset_ring(
    distance: Matrix, layout: RankLayout, given: Sequence[int], options: SearchOptions
) -> Solution:
    """Search for the shortest ring through as many hosts as ranks need, if slots are equal.

    Up to 16 hosts by dynamic programming. Else chains of annealing, in which hosts of the ring and
    others change places, and after each the search for the nearest ring through those it chose.

    Args:
        distance: (H, H), symmetric, zero diagonal.
        layout: even; it does not need all hosts.
        given: a permutation of the hosts.
        options: seed, deadline and progress.

    Returns:
        a permutation of all hosts, of which the first are the ring; `given` where nothing cheaper
        was found.
    """
    count = layout.fewest_hosts
    distance = np.ascontiguousarray(distance)

    def cost(ring: Sequence[int]) -> float:
        return ring_cost(distance, ring) if count > 1 else 0.0

    search = Search(cost, given[:count], options.deadline, on_progress=options.on_progress)
    if search.cost == 0.0:
        return Solution(list(given), 0.0, 0.0, "exact", 0, "dynamic-programming")
    if count == 2 or len(distance) <= MAX_EXACT_HOSTS:
        if count == 2:
            apart = distance + np.diag(np.full(len(distance), np.inf))
            nearest = np.unravel_index(int(apart.argmin()), apart.shape)
            search.offer([int(host) for host in nearest])
        else:
            search.offer(_native.cheapest_subset_ring(distance, count))
        ring = _append_unused(search.order, given)
        return Solution(ring, search.cost, search.cost, "exact", 0, "dynamic-programming")
    climb = _SubsetRingSearch(search, distance, layout, np.random.default_rng(options.seed))
    found = search.run(climb.run, "lin-kernighan")
    return replace(found, order=_append_unused(found.order, given))


def _append_unused(ring: Sequence[int], given: Sequence[int]) -> list[int]:
    """Return the ring rotated to the first host in `given`, followed by the unused hosts."""
    place = {host: number for number, host in enumerate(given)}
    start = min(range(len(ring)), key=lambda at: place[ring[at]])
    inside = set(ring)
    return [*ring[start:], *ring[:start], *(host for host in given if host not in inside)]


class _SubsetRingSearch:
    """Search for a short ring through some of the hosts: annealing chains, each polished."""

    def __init__(
        self, search: Search, distance: Matrix, layout: RankLayout, rng: np.random.Generator
    ) -> None:
        self._search = search
        self._distance = distance
        self._layout = layout
        self._count = len(search.order)
        self._unit = spread(distance)
        self._rng = rng

    def run(self) -> EndedBy:
        """Run annealing chains until a limit or the bound ends the search; return which."""
        search, deadline = self._search, self._search.deadline
        search.bound = subset_ring_bound(self._distance, self._layout, deadline.part(_BOUND_SHARE))
        leaves = order_by_clusters(self._distance, deadline.part(_START_SHARE))
        self._polish(_best_window(self._distance, leaves, self._count))

        def chain(number: int) -> None:
            moves = _MOVES_PER_HOST * self._count << number // 2
            is_warm = number % 2 == 1
            start = search.order
            if not is_warm and number > 0:
                first = int(self._rng.integers(len(leaves)))
                start = [*leaves[first:], *leaves[:first]][: self._count]
            self._polish(self._chain(start, moves, _WARM if is_warm else _HOT))

        return search.chains(chain, _IDLE_CHAINS)

    def _chain(self, start: Ring, moves: int, hot: float) -> Ring:
        """Anneal a ring's hosts and order at several falling temperatures; return the ring."""
        deadline = self._search.deadline
        seed = int(self._rng.integers(1 << 63))
        try:
            chain = _native.SubsetAnnealing(self._distance, start, seed, deadline)
        except TimeoutError:
            return start
        stage_moves = max(1, moves // _STAGES)
        for temperature in np.geomspace(hot, _COLD, _STAGES) * self._unit:
            self._search.steps += chain.run(stage_moves, float(temperature), deadline)
            if deadline.is_over:
                break
        return chain.ring

    def _polish(self, ring: Ring) -> None:
        """Shorten a ring through the same hosts, and keep it if it is the shortest so far."""
        left_s = self._search.deadline.left_s
        if left_s > 0.0:
            within = self._distance[np.ix_(ring, ring)]
            found = search_ring(within, seed=0, time_limit_s=_POLISH_SHARE * left_s)
            if found.is_interrupted:
                raise KeyboardInterrupt
            ring = [ring[place] for place in found.order]
        self._search.offer(ring)
        self._search.tell()


def _best_window(distance: Matrix, leaves: Ring, count: int) -> Ring:
    """Return the shortest ring of `count` hosts that are consecutive in a circle of all hosts."""
    around = np.array([*leaves, *leaves])
    steps = np.concatenate([[0.0], np.cumsum(distance[around[:-1], around[1:]])])
    start = np.arange(len(leaves))
    last = start + count - 1
    costs = steps[last] - steps[start] + distance[around[last], around[start]]
    best = int(costs.argmin())
    ring: Ring = around[best : best + count].tolist()
    return ring
