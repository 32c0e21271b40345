"""Search for rank orders with the least greatest distance between ranks that exchange data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.bottleneck.bound import ExchangingPairs, farthest_bound
from plink.solvers.collectives.form import Form, RoundsForm
from plink.solvers.distances import Matrix, check_distances, sample_pairs
from plink.solvers.orders.latency_search import search_by_latency
from plink.solvers.search import (
    LEAST_S,
    EndedBy,
    Search,
    SearchOptions,
    Solution,
    check_options,
)
from plink.solvers.slots.layout import RankLayout, prices_with_slots

# The share of the time for the farthest neighbours; what remains is for the cost.
_FARTHEST_SHARE = 0.5

# The share of the time of each search for a bound of what it searches.
_PROOF_SHARE = 0.2

# The most of the time for the farthest that goes into the bound that comes first.
_BOUND_SHARE = 0.3

# Of more hosts, levels come from so many pairs of each.
_MOST_WITH_ALL_LEVELS = 1024
_PAIRS_A_HOST = 32

# The share of the time for the farthest that goes into a cheap order to begin with.
_START_SHARE = 0.3

# What making other distances of these takes, and a look at them, for each pair of hosts.
_S_PER_PAIR = 1.5e-8

# A bound above what rounding makes of 0: an order costs one step beyond at least.
_ONE_BEYOND = 1e-6


@dataclass(frozen=True)
class BottleneckSolution(Solution):
    """Solution with the greatest distance between exchanging hosts in its order, and a bound on it.

    `lower_bound` is proven of all orders whose farthest pairs are as near; `ended_by` is `exact` or
    `bound` only where `farthest` is proven, too.

    Args:
        farthest: the greatest distance of two hosts that exchange data.
        farthest_bound: no order has a smaller one.
    """

    farthest: float = 0.0
    farthest_bound: float = 0.0


def search_by_bottleneck(
    form: Form,
    distance: Matrix,
    layout: RankLayout,
    given: Sequence[int],
    options: SearchOptions,
    *,
    is_guess: npt.NDArray[np.bool_] | None = None,
    slack: float = 0.0,
) -> BottleneckSolution:
    """Search for the order whose farthest exchanging hosts are nearest, and of such the cheapest.

    Whether an order keeps within a distance is a search itself, for one that costs nothing where
    distances beyond count 1 and others 0. By halving, the least such distance is found, from the
    one on that the graph of near hosts may hold an order at all (`farthest_bound`): the threshold
    algorithm of the bottleneck travelling salesman (Garfinkel and Gilbert 1978). Then what is
    beyond is made dearer than a whole order, and the form's cost searched as ever.

    Args:
        form: what the cost sums, over all ranks.
        distance: (H, H), symmetric, zero diagonal, finite, not negative.
        layout: how ranks fill the H hosts.
        given: a permutation of all hosts.
        options: how long to search, and from which seed; progress is of the greatest distance.
        is_guess: (H, H), symmetric: distances that are not known. They count as given for orders,
            and as 0 for bounds, which then hold whatever they are.
        slack: greatest distances that are longer than the least by this share count as equal to it.

    Raises:
        ValueError: as `plink.solvers.orders.latency_search.search_by_latency`.
    """
    matrix = check_distances(distance, layout.hosts)
    order = check_options(given, layout.hosts, seed=options.seed)
    known = matrix
    if is_guess is not None and is_guess.any():
        known = np.where(is_guess, 0.0, matrix)
    climb = _BottleneckSearch(form, matrix, layout, known, options)
    climb.search = Search(climb.reach, order, options.deadline, on_progress=options.on_progress)
    return climb.solution(climb.search.run(lambda: climb.run(order, slack), "threshold"))


class _BottleneckSearch:
    """Search for the order whose greatest distance is least, by cost searches on thresholds."""

    # Its cost is the greatest distance that an order uses.
    search: Search

    def __init__(
        self,
        form: Form,
        matrix: Matrix,
        layout: RankLayout,
        known: Matrix,
        options: SearchOptions,
    ) -> None:
        self._form = form
        self._matrix = matrix
        self._layout = layout
        self._known = known
        self._is_all_known = known is matrix
        self._options = options
        self._used = ExchangingPairs(form, layout)
        self._prices = prices_with_slots(form, matrix, layout)
        self._cost_bound = 0.0

    def run(self, given: list[int], slack: float) -> EndedBy:
        """Minimise an order's greatest distance, then its cost; return what ended the search."""
        whole = self.search.deadline
        self.search.deadline = whole.part(_FARTHEST_SHARE)
        cheap = self._begin(given)
        self._bisect()
        self.search.deadline = whole
        return self._search_cheapest([given, *cheap], slack)

    def _begin(self, given: list[int]) -> list[list[int]]:
        """Prove a first bound; return the order of a cost search unless `given` meets the bound."""
        search = self.search
        search.bound = self._prove_quickly()
        if search.cost <= search.bound:
            return []
        # What is cheap in all has near neighbours mostly. Where no time is left for more than
        # that, it has all of it.
        share = _START_SHARE if self._has_time_for_search() else 1.0 / _FARTHEST_SHARE
        found = self._run(self._matrix, share, given)
        self._keep(found.order)
        if found.is_interrupted:
            raise KeyboardInterrupt
        return [list(found.order)]

    def _prove_quickly(self) -> float:
        """Return a lower bound on every order's greatest distance, from graphs of near hosts."""
        search, known = self.search, self._known
        at_once = self._used.nearest_needed(known)
        levels = _levels(known)
        place = farthest_bound(self._used, known, levels, search.deadline.part(_BOUND_SHARE))
        if place == 0:
            return min(max(at_once, float(levels[0])), search.cost)
        # Some distance beyond the last level that is too near, which may lie between two levels.
        return min(max(at_once, _find_next_distance(known, levels[place - 1])), search.cost)

    def _bisect(self) -> None:
        """Bisect for the least distance within which an order is found, until time is over."""
        search, levels = self.search, _levels(self._matrix)
        # An order keeps to the level `high`; no order was found at `low` or below it.
        high = int(np.searchsorted(levels, search.cost))
        low = begun = int(np.searchsorted(levels, search.bound)) - 1
        proven = low
        least = _ONE_BEYOND * _least_weight(self._form)
        # The bound is met more often than not.
        middle = low + 1
        while high - low > 1 and self._has_time_for_search():
            beyond = (self._matrix > levels[middle]).astype(np.float64)
            found = self._run(beyond, 1.0 / (1.0 + math.log2(high - low)), search.order)
            self._keep(found.order)
            if found.is_interrupted:
                raise KeyboardInterrupt
            if found.cost == 0.0:
                high = int(np.searchsorted(levels, search.cost))
            else:
                low = middle
                if found.lower_bound > least and self._is_all_known:
                    proven = middle
            middle = (low + high) // 2
        if begun < proven < len(levels) - 1:
            beyond_s = _find_next_distance(self._matrix, levels[proven])
            search.bound = min(max(search.bound, beyond_s), search.cost)

    def _search_cheapest(self, orders: list[list[int]], slack: float) -> EndedBy:
        """Search for the cheapest order whose greatest distance is within `slack` of the least."""
        search = self.search
        limit = search.cost * (1.0 + slack)
        near = [one for one in (*orders, search.order) if self.reach(one) <= limit]
        # The first of several that cost the same: the given one.
        search.order = min(near, key=self._prices.of)
        cost = self._prices.of(search.order)
        if not self._has_time_for_search():
            return "time"
        # One step beyond makes any order dearer than the one there is.
        dear = cost / _least_weight(self._form)
        priced = np.where(self._matrix > limit, self._matrix + dear, self._matrix)
        found = self._run(priced, 1.0, search.order)
        if self.reach(found.order) <= limit and self._prices.of(found.order) < cost:
            search.order = list(found.order)
        if self._is_all_known:
            self._cost_bound = found.lower_bound
        if found.ended_by in ("exact", "bound") and search.cost > search.bound:
            return "time" if search.deadline.is_over else "steps"
        return found.ended_by

    def solution(self, found: Solution) -> BottleneckSolution:
        """Return the search's result with the order's latency cost and its greatest distance."""
        cost = self._prices.of(found.order)
        return BottleneckSolution(
            found.order,
            cost,
            min(self._cost_bound, cost),
            found.ended_by,
            found.steps,
            found.solver,
            farthest=self.reach(found.order),
            farthest_bound=found.lower_bound,
        )

    def reach(self, order: Sequence[int]) -> float:
        """Return the greatest distance between ranks of an order that exchange data."""
        return self._used.farthest(self._matrix, order)

    def _run(self, matrix: Matrix, share: float, start: Sequence[int]) -> Solution:
        search = self.search
        limit_s = max(LEAST_S, share * search.deadline.left_s)
        proof_s = _PROOF_SHARE * limit_s
        found = search_by_latency(
            self._form,
            matrix,
            start,
            layout=self._layout,
            seed=self._options.seed,
            time_limit_s=limit_s - proof_s,
            threads=self._options.threads,
            proof_limit_s=proof_s,
            on_progress=lambda _: search.tell(),
        )
        search.steps += found.steps
        return found

    def _keep(self, order: Sequence[int]) -> None:
        """Make an order the best so far if its greatest distance is no larger than the best's."""
        farthest = self.reach(order)
        if farthest <= self.search.cost:
            self.search.order, self.search.cost = list(order), farthest

    def _has_time_for_search(self) -> bool:
        """Return whether enough time is left for one more cost search on a changed matrix."""
        return self.search.deadline.left_s > _S_PER_PAIR * len(self._matrix) ** 2


def _least_weight(form: Form) -> float:
    """Return the least weight of a round with messages in a latency cost; 1 for rings and trees."""
    if not isinstance(form, RoundsForm):
        return 1.0
    return min((step.weight for step in form.rounds if len(step.edges)), default=1.0)


def _find_next_distance(matrix: Matrix, level: float) -> float:
    """Return the least entry of a distance matrix above a value; infinite if there is none."""
    return float(min(row.min(where=row > level, initial=np.inf) for row in matrix))


def _levels(matrix: Matrix) -> npt.NDArray[np.float64]:
    """Return distances to bisect over, ascending, (L,): all that occur, a sample for many hosts."""
    if len(matrix) <= _MOST_WITH_ALL_LEVELS:
        return np.unique(matrix)
    return np.unique(np.append(sample_pairs(matrix, _PAIRS_A_HOST), [0.0, matrix.max()]))
