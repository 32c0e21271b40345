"""Search for a short ring through all hosts, with a lower bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.distances import check_distances
from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.ring.bound import rising_bounds, two_nearest_bound
from plink.solvers.ring.merging import merge_ring_edges
from plink.solvers.ring.solution import EndedBy, RingSolution

Matrix = npt.NDArray[np.float64]

MAX_EXACT_SIZE = 12

# One slice of native work: about how long an interrupt waits.
_SLICE_S = 0.05

# The bound may use this share of the time. The search needs the candidates that come from it.
_BOUND_SHARE = 0.15

# Of the time that is then left, in turn: the most that the lists of near hosts may take, the quick
# improvement of the first ring, and the candidates. All of that is soon over but among thousands.
_NEAR_SHARE = 0.3
_QUICK_SHARE = 0.3
_CANDIDATES_SHARE = 0.4

# A ring by nearest neighbours is there in any case: thousands of hosts take no longer.
_LEAST_S = 0.1

# So are a local optimum and a bound where hosts are few.
_LEAST_PART_S = 0.05

# Candidates for new edges per host, by alpha-nearness and by distance.
_BY_ALPHA = 5
_BY_DISTANCE = 3

# A round: so many chains, each from the best ring shaken in one place for so many hosts, with a
# kick for so many hosts. Many short chains that are merged end cheaper than a few long ones, which
# soon find nothing any more.
_CHAINS = 24
_HOSTS_PER_SHAKE = 10
_HOSTS_PER_KICK = 2
_LEAST_KICKS = 50

# The merging has this share of the time, so many times the kicks of a chain, and at least so many
# rings.
_MERGING_SHARE = 0.2
_MERGING_FACTOR = 10
_LEAST_MERGED = 3

# The longest chain of exchanges, and the share of a hop by which a ring may become dearer. Among
# the few edges of a merging, deep chains cost little.
_DEPTH, _TEMPERATURE = 5, 0.3
_MERGING_DEPTH, _MERGING_TEMPERATURE = 10, 0.1

# After a round that found nothing better, chains are twice as long; after so many in a row, the
# search ends.
_IDLE_ROUNDS = 3

# Hosts are renumbered up to here: a copy of the distances of more would cost more memory than the
# search gains.
_MOST_RENUMBERED = 2048

# Rings within this share of the bound are optimal for every purpose.
_RELATIVE_TOLERANCE = 1e-9


def search_ring(
    distance: Matrix,
    given: Sequence[int] | None = None,
    *,
    seed: int = 0,
    time_limit_s: float = 2.0,
    on_progress: Callable[[SearchProgress], None] | None = None,
) -> RingSolution:
    """Return the cheapest ring found in the time limit, never dearer than the given one.

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
    deadline = Deadline(time_limit_s)
    matrix = check_distances(distance, len(distance))
    if len(matrix) == 0:
        raise ValueError(f"distance has shape {matrix.shape}, expected (N, N), N at least 1")
    size = len(matrix)
    order = list(range(size)) if given is None else [int(city) for city in given]
    if sorted(order) != list(range(size)):
        raise ValueError(f"given is not a permutation of 0 to {size - 1}")
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"seed is {seed}, expected 0 to 2^63 - 1")
    if not time_limit_s > 0.0:
        raise ValueError(f"time_limit_s is {time_limit_s}, expected more than 0")
    return search_checked_ring(matrix, order, seed=seed, deadline=deadline, on_progress=on_progress)


def search_checked_ring(
    matrix: Matrix,
    given: list[int],
    *,
    seed: int,
    deadline: Deadline,
    on_progress: Callable[[SearchProgress], None] | None,
) -> RingSolution:
    """Run `search_ring` with checked arguments until a deadline."""
    if len(matrix) <= MAX_EXACT_SIZE:
        return _exact(matrix, given)
    climb = _RingSearch(matrix, given, seed, deadline, on_progress)
    try:
        ended_by = climb.run()
    except KeyboardInterrupt:
        ended_by = "interrupt"
    return climb.solution(ended_by)


def _exact(matrix: Matrix, given: list[int]) -> RingSolution:
    found = _native.cheapest_ring(matrix)
    cost = ring_cost(matrix, found)
    given_cost = ring_cost(matrix, given)
    if given_cost <= cost * (1.0 + _RELATIVE_TOLERANCE):
        found, cost = given, given_cost
    return RingSolution(_from_first(found, given[0]), cost, cost, "exact", 0)


def _from_first(order: Sequence[int], first: int) -> list[int]:
    """Return the ring rotated to begin at `first`."""
    start = list(order).index(first)
    return [*order[start:], *order[:start]]


class _RingSearch:
    """State of a ring search: quick ring, bound and candidate edges, then kicks."""

    def __init__(
        self,
        matrix: Matrix,
        given: list[int],
        seed: int,
        deadline: Deadline,
        on_progress: Callable[[SearchProgress], None] | None,
    ) -> None:
        self._matrix = matrix
        self._given = given
        self._rng = np.random.default_rng(seed)
        self._on_progress = on_progress
        self._deadline = deadline
        self._limit_s = deadline.left_s
        self._best = (ring_cost(matrix, given), given)
        self._hosts = list(range(len(matrix)))
        self._bound = 0.0
        self._kicks = 0

    def run(self) -> EndedBy:
        """Search until something ends it; return what did."""
        first = min(self._given, self._quick_ring(self._given[0]), key=self._cost)
        self._keep(first)
        if len(first) <= _MOST_RENUMBERED:
            self._renumber(first)
            first = self._best[1]
        deadline = self._deadline.part(_NEAR_SHARE).at_least(_LEAST_S)
        near: list[list[int]] = _native.nearest_lists(
            self._matrix, _BY_ALPHA + _BY_DISTANCE, deadline.native
        )
        self._bound = two_nearest_bound(self._matrix, near)
        self._improve(first, near, self._part(_QUICK_SHARE))
        candidates = self._prove(near)
        kicks = max(_LEAST_KICKS, len(self._matrix) // _HOSTS_PER_KICK)
        idle_rounds = 0
        while idle_rounds < _IDLE_ROUNDS:
            before = self._best[0]
            self._round(candidates, kicks)
            if self._is_optimal():
                return "bound"
            if self._deadline.is_over:
                return "time"
            if self._best[0] < before:
                idle_rounds = 0
            else:
                idle_rounds += 1
                kicks *= 2
        return "kicks"

    def _renumber(self, ring: list[int]) -> None:
        """Number the hosts along a ring, so that near ones share cache lines."""
        renumbered = np.ascontiguousarray(self._matrix[np.ix_(ring, ring)])
        best = (self._cost(ring), list(range(len(ring))))
        # At once, so that an interrupt finds all three or none.
        self._matrix, self._hosts, self._best = renumbered, ring, best

    def _round(self, candidates: list[list[int]], kicks: int) -> None:
        """Run chains of kicks and merge their rings."""
        size = len(self._matrix)
        deadline = self._deadline.part(1.0 - _MERGING_SHARE)
        rings = [self._best[1]]
        for chain in range(_CHAINS):
            search = self._search(self._best[1], candidates, _DEPTH, _TEMPERATURE)
            if chain > 0:
                search.shake(size // _HOSTS_PER_SHAKE)
            self._run(search, kicks, deadline)
            rings.append(search.best)
            if self._is_optimal() or deadline.is_over:
                break
        if len(rings) >= _LEAST_MERGED:
            candidates = merge_ring_edges(self._matrix, rings)
        merging = self._search(self._best[1], candidates, _MERGING_DEPTH, _MERGING_TEMPERATURE)
        self._run(merging, _MERGING_FACTOR * kicks, self._deadline)

    def solution(self, ended_by: EndedBy) -> RingSolution:
        """Return the best ring so far as a solution."""
        cost, order = self._best
        return RingSolution(
            order=_from_first([self._hosts[number] for number in order], self._given[0]),
            cost=cost,
            lower_bound=min(self._bound, cost),
            ended_by=ended_by,
            kicks=self._kicks,
        )

    def _quick_ring(self, first: int) -> list[int]:
        """Return the nearest-neighbour ring, whatever the time."""
        deadline = self._deadline.at_least(_LEAST_S)
        ring: list[int] = _native.nearest_neighbour_ring(self._matrix, first, deadline.native)
        return ring

    def _prove(self, near: list[list[int]]) -> list[list[int]]:
        """Raise the lower bound; return candidate edges from its 1-tree, else near ones."""
        ascent = _native.Ascent(self._matrix, self._best[0])
        for bound in rising_bounds(ascent, len(self._matrix), self._part(_BOUND_SHARE)):
            self._bound = max(self._bound, bound)
            self._tell()
        deadline = self._deadline.part(_CANDIDATES_SHARE)
        found = ascent.candidates(_BY_ALPHA, _BY_DISTANCE, deadline.native)
        return [own or others for own, others in zip(found, near, strict=True)]

    def _improve(self, ring: list[int], candidates: list[list[int]], deadline: Deadline) -> None:
        """Improve a ring to a local optimum, without kicks."""
        self._run(self._search(ring, candidates, _DEPTH, _TEMPERATURE), 0, deadline)

    def _search(
        self, ring: list[int], candidates: list[list[int]], depth: int, temperature: float
    ) -> _native.Search:
        seed = int(self._rng.integers(1 << 63))
        enough = self._bound * (1.0 + _RELATIVE_TOLERANCE)
        return _native.Search(self._matrix, candidates, ring, seed, enough, depth, temperature)

    def _run(self, search: _native.Search, kicks: int, deadline: Deadline) -> None:
        """Improve a ring, then kick it several times; keep the best."""
        before = self._kicks
        while True:
            search.run(kicks - search.kicks, min(_SLICE_S, deadline.left_s))
            self._kicks = before + search.kicks
            if search.best_cost < self._best[0] * (1.0 - _RELATIVE_TOLERANCE):
                self._keep(search.best)
            self._tell()
            is_done = search.is_settled and (search.is_enough or search.kicks >= kicks)
            if is_done or deadline.is_over:
                return

    def _part(self, share: float) -> Deadline:
        return self._deadline.part(share).at_least(_LEAST_PART_S)

    def _is_optimal(self) -> bool:
        return self._best[0] <= self._bound * (1.0 + _RELATIVE_TOLERANCE)

    def _cost(self, ring: list[int]) -> float:
        return ring_cost(self._matrix, ring)

    def _keep(self, ring: list[int]) -> None:
        cost = self._cost(ring)
        if cost < self._best[0]:
            self._best = (cost, ring)

    def _tell(self) -> None:
        if self._on_progress is not None:
            seconds = self._limit_s - self._deadline.left_s
            self._on_progress(SearchProgress(seconds, self._best[0], self._bound))
