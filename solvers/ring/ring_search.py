"""Search for a short ring through all hosts, with a lower bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.cost import ring_cost
from plink.solvers.distances import check_distances
from plink.solvers.limits import Deadline
from plink.solvers.search import (
    TOLERANCE,
    EndedBy,
    OnProgress,
    Search,
    SearchOptions,
    Solution,
    check_options,
)

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

# Steps of the ascent between two proofs, one for each host and iteration: some 0.05 s.
_SLICE_STEPS = 100_000

# Nearest hosts and a ring to aim at are found in any case: thousands of hosts take no longer.
_LEAST_BOUND_S = 0.3

# Sums of floats may differ in their last digits from one order of adding to another.
_ROUNDING = 1e-12


def search_ring(
    distance: Matrix,
    given: Sequence[int] | None = None,
    *,
    seed: int = 0,
    time_limit_s: float = 2.0,
    on_progress: OnProgress | None = None,
) -> Solution:
    """Search for the shortest ring through all hosts; never longer than the given one.

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
    order = check_options(
        range(len(matrix)) if given is None else given,
        len(matrix),
        seed=seed,
        time_limit_s=time_limit_s,
    )
    return search_checked_ring(matrix, order, SearchOptions(deadline, seed, 1, None, on_progress))


def search_checked_ring(matrix: Matrix, given: list[int], options: SearchOptions) -> Solution:
    """Search for the shortest ring as `search_ring`, without validating the arguments."""
    if len(matrix) <= MAX_EXACT_SIZE:
        exact = Search(lambda ring: ring_cost(matrix, ring), given, options.deadline)
        # Every ring of fewer hosts costs the same.
        if len(given) > 3 and exact.offer(_native.cheapest_subset_ring(matrix, len(given))):
            exact.order = _from_first(exact.order, given[0])
        return Solution(exact.order, exact.cost, exact.cost, "exact", 0, "dynamic-programming")
    climb = _RingSearch(matrix, given, options)
    found = climb.search.run(climb.run, "lin-kernighan")
    return replace(found, order=climb.to_host_numbers(found.order))


def _from_first(order: Sequence[int], first: int) -> list[int]:
    """Return a ring rotated so that it begins at the host `first`."""
    start = list(order).index(first)
    return [*order[start:], *order[:start]]


class _RingSearch:
    """Search for a short ring: nearest neighbours, lower bound, then kicks with Lin-Kernighan."""

    def __init__(self, matrix: Matrix, given: list[int], options: SearchOptions) -> None:
        self._matrix = matrix
        self._given = given
        self._rng = np.random.default_rng(options.seed)
        self._deadline = options.deadline
        self._hosts = list(range(len(matrix)))
        self._kicks = max(_LEAST_KICKS, len(matrix) // _HOSTS_PER_KICK)
        self._candidates: list[list[int]] = []
        self.search = Search(self._cost, given, options.deadline, on_progress=options.on_progress)

    def to_host_numbers(self, ring: Sequence[int]) -> list[int]:
        """Return a ring in the hosts' original numbers, starting at the given first host."""
        return _from_first([self._hosts[number] for number in ring], self._given[0])

    def run(self) -> EndedBy:
        """Search for shorter rings until something ends the search; return what did."""
        search = self.search
        quick = self._deadline.at_least(_LEAST_S)
        search.offer(_native.nearest_neighbour_ring(self._matrix, self._given[0], quick))
        if len(search.order) <= _MOST_RENUMBERED:
            self._renumber(search.order)
        deadline = self._deadline.part(_NEAR_SHARE).at_least(_LEAST_S)
        near: list[list[int]] = _native.nearest_lists(
            self._matrix, _BY_ALPHA + _BY_DISTANCE, deadline
        )
        search.bound = two_nearest_bound(self._matrix, near)
        climb = self._climb(search.order, near, _DEPTH, _TEMPERATURE)
        self._run(climb, 0, self._part(_QUICK_SHARE))
        self._candidates = self._prove(near)
        return search.chains(self._round, _IDLE_ROUNDS)

    def _renumber(self, ring: list[int]) -> None:
        """Renumber the search's hosts along a ring, so that near ones share cache lines."""
        renumbered = np.ascontiguousarray(self._matrix[np.ix_(ring, ring)])
        numbers = list(range(len(ring)))
        # At once, so that an interrupt finds all three or none.
        self._matrix, self._hosts, self.search.order = renumbered, ring, numbers

    def _round(self, number: int) -> None:  # noqa: ARG002
        """Run several chains of kicks; search again among the edges of all their rings."""
        size = len(self._matrix)
        search, candidates, before = self.search, self._candidates, self.search.cost
        deadline = self._deadline.part(1.0 - _MERGING_SHARE)
        rings = [search.order]
        for chain in range(_CHAINS):
            climb = self._climb(search.order, candidates, _DEPTH, _TEMPERATURE)
            if chain > 0:
                climb.shake(size // _HOSTS_PER_SHAKE)
            self._run(climb, self._kicks, deadline)
            rings.append(climb.best)
            if search.is_optimal or deadline.is_over:
                break
        if len(rings) >= _LEAST_MERGED:
            candidates = merge_ring_edges(self._matrix, rings)
        merging = self._climb(search.order, candidates, _MERGING_DEPTH, _MERGING_TEMPERATURE)
        self._run(merging, _MERGING_FACTOR * self._kicks, self._deadline)
        if search.cost >= before:
            self._kicks *= 2

    def _prove(self, near: list[list[int]]) -> list[list[int]]:
        """Raise the lower bound; return each host's candidate neighbours for improving rings."""
        ascent = _native.Ascent(self._matrix, self.search.cost)
        for bound in rising_bounds(ascent, len(self._matrix), self._part(_BOUND_SHARE)):
            self.search.bound = max(self.search.bound, bound)
            self.search.tell()
        deadline = self._deadline.part(_CANDIDATES_SHARE)
        found = ascent.candidates(_BY_ALPHA, _BY_DISTANCE, deadline)
        return [own or others for own, others in zip(found, near, strict=True)]

    def _climb(
        self, ring: list[int], candidates: list[list[int]], depth: int, temperature: float
    ) -> _native.Search:
        seed = int(self._rng.integers(1 << 63))
        enough = self.search.bound * (1.0 + TOLERANCE)
        return _native.Search(self._matrix, candidates, ring, seed, enough, depth, temperature)

    def _run(self, climb: _native.Search, kicks: int, deadline: Deadline) -> None:
        """Improve a ring locally, then kick and improve it repeatedly; offer the best ring."""
        search = self.search
        before = search.steps
        while True:
            climb.run(kicks - climb.kicks, min(_SLICE_S, deadline.left_s))
            search.steps = before + climb.kicks
            if climb.best_cost < search.cost:
                search.offer(climb.best)
            search.tell()
            is_done = climb.is_settled and (climb.is_enough or climb.kicks >= kicks)
            if is_done or deadline.is_over:
                return

    def _part(self, share: float) -> Deadline:
        return self._deadline.part(share).at_least(_LEAST_PART_S)

    def _cost(self, ring: Sequence[int]) -> float:
        return ring_cost(self._matrix, ring)


def merge_ring_edges(distance: Matrix, rings: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the hosts next to each host in any of the rings, nearest first.

    A search among these edges alone merges the rings (Cook and Seymour 2003): few hosts have more
    than three, so that most of the rings stands firm and what differs is soon tried.
    """
    size = len(distance)
    ends = np.asarray(rings, dtype=np.int64)
    after = np.roll(ends, -1, axis=1)
    keys = np.unique(np.concatenate([(ends * size + after).ravel(), (after * size + ends).ravel()]))
    host, other = np.divmod(keys, size)
    nearest_first = np.lexsort((distance[host, other], host))
    bounds = np.cumsum(np.bincount(host, minlength=size))[:-1]
    return [part.tolist() for part in np.split(other[nearest_first], bounds)]


def two_nearest_bound(matrix: Matrix, near: Sequence[Sequence[int]]) -> float:
    """Return half the sum of hosts' distances to their two nearest others, a bound on rings.

    Args:
        matrix: (N, N), N at least 3.
        near: by host, the nearest others, nearest first; none where they are not known.
    """
    ends = [(host, *others[:2]) for host, others in enumerate(near) if others]
    hosts = np.array(ends, dtype=np.intp).reshape(-1, 3)
    sums = matrix[hosts[:, 0], hosts[:, 1]] + matrix[hosts[:, 0], hosts[:, 2]]
    return math.fsum(sums.tolist()) / 2.0 * (1.0 - _ROUNDING)


def rising_bounds(ascent: _native.Ascent, hosts: int, deadline: Deadline) -> Iterator[float]:
    """Yield ever higher lower bounds by 1-trees under penalties (Held and Karp 1970)."""
    iterations = max(1, _SLICE_STEPS // hosts)
    is_final = False
    while not is_final and not deadline.is_over:
        is_final = ascent.run(iterations, deadline)
        yield ascent.bound


def ring_bound(matrix: Matrix, deadline: Deadline) -> float:
    """Return a lower bound on any ring's length, by 1-trees (Held and Karp 1970) or nearest hosts.

    Args:
        matrix: (N, N), checked, N at least 2.
        deadline: what was proven until then is returned.
    """
    size = len(matrix)
    if size == 2:
        return 2.0 * float(matrix[0, 1])
    near = _native.nearest_lists(matrix, 2, deadline.at_least(_LEAST_BOUND_S))
    known = two_nearest_bound(matrix, near)
    # The ascent aims at the cost of a ring; it need not be a cheap one.
    some = _native.nearest_neighbour_ring(matrix, 0, deadline.at_least(_LEAST_BOUND_S))
    ascent = _native.Ascent(matrix, ring_cost(matrix, some))
    return max([known, *rising_bounds(ascent, size, deadline)])
