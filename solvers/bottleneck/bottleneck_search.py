"""Search for orders with the least greatest distance, and among those the least cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.bottleneck.bound import farthest_bound
from plink.solvers.bottleneck.used import Used
from plink.solvers.collectives.form import Form, RoundsForm
from plink.solvers.distances import Matrix, check_distances
from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.orders.latency_search import require_order
from plink.solvers.orders.solution import EndedBy, OrderSolution
from plink.solvers.slots.layout import RankLayout
from plink.solvers.slots.slot_search import prices_with_slots, search_with_slots

OnProgress = Callable[[SearchProgress], None]

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
class BottleneckSolution:
    """Order with its bottleneck, cost and bound.

    Args:
        order: a permutation of all hosts.
        farthest: the greatest distance of two hosts that exchange data.
        farthest_bound: proven: in no order that is less.
        cost: the form's.
        cost_bound: proven: no order whose farthest are as near costs less; 0 where unknown.
        ended_by: as `OrderSolution`; `exact` and `bound` only where `farthest` is proven, too.
        steps: moves tried.
    """

    order: Sequence[int]
    farthest: float
    farthest_bound: float
    cost: float
    cost_bound: float
    ended_by: EndedBy
    steps: int


def search_by_bottleneck(
    form: Form,
    distance: Matrix,
    layout: RankLayout,
    given: Sequence[int],
    *,
    is_guess: npt.NDArray[np.bool_] | None = None,
    slack: float = 0.0,
    seed: int = 0,
    time_limit_s: float = 2.0,
    threads: int = 1,
    on_progress: OnProgress | None = None,
) -> BottleneckSolution:
    """Search for the least greatest distance, then the least cost; keep `given` if best.

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
        is_guess: (H, H), symmetric: distances that are not known. They count as given for orders,
            and as 0 for bounds, which then hold whatever they are.
        slack: greatest distances that are longer than the least by this share count as equal to it.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: an interrupt (Ctrl-C) ends the search earlier, with the best so far.
        threads: searches at the same time.
        on_progress: called some twenty times a second, of the greatest distance.

    Raises:
        ValueError: as `plink.solvers.slots.slot_search.search_with_slots`.
    """
    deadline = Deadline(time_limit_s)
    matrix = check_distances(distance, layout.hosts)
    require_order(given, layout.hosts)
    known = matrix
    if is_guess is not None and is_guess.any():
        known = np.where(is_guess, 0.0, matrix)
    search = _BottleneckSearch(
        form,
        matrix,
        layout,
        seed=seed,
        threads=threads,
        is_all_known=known is matrix,
        on_progress=on_progress,
        deadline=deadline,
    )
    search.begin(list(given), known)
    if not search.is_interrupted:
        search.bisect()
    if search.is_interrupted:
        return search.solution(search.order, 0.0, "interrupt")
    return search.cheapest(slack, deadline)


class _BottleneckSearch:
    """Search state: the order with the least greatest distance so far, and the bound."""

    def __init__(
        self,
        form: Form,
        matrix: Matrix,
        layout: RankLayout,
        *,
        seed: int,
        threads: int,
        is_all_known: bool,
        on_progress: OnProgress | None,
        deadline: Deadline,
    ) -> None:
        self._limit_s = deadline.left_s
        self._whole = deadline
        self._deadline = deadline.part(_FARTHEST_SHARE)
        self.is_interrupted = False
        self._form = form
        self._matrix = matrix
        self._layout = layout
        self._seed = seed
        self._threads = threads
        self._is_all_known = is_all_known
        self._on_progress = on_progress
        self._used = Used(form, layout)
        self._prices = prices_with_slots(form, matrix, layout)
        self._steps = 0

    def begin(self, given: list[int], known: Matrix) -> None:
        """Begin with the given order, or with a quick search's if that is better."""
        self.order, self._farthest = given, self._reach(given)
        self._cheap = [given]
        self._bound = self._proven_at_once(known)
        if self._farthest > self._bound:
            # What is cheap in all has near neighbours mostly. Where no time is left for more than
            # that, it has all of it.
            has_more = self._suffices_for_others()
            if not has_more:
                self._deadline = self._whole
            self._cheap.append(
                list(self._run(self._matrix, _START_SHARE if has_more else 1.0).order)
            )
            self._keep(self._cheap[-1])

    def _proven_at_once(self, known: Matrix) -> float:
        """Return the bound by graphs of near hosts and by nearest neighbours."""
        at_once = self._used.nearest_needed(known)
        levels = _levels(known)
        place = farthest_bound(self._used, known, levels, self._deadline.part(_BOUND_SHARE))
        if place == 0:
            return min(max(at_once, float(levels[0])), self._farthest)
        # Some distance beyond the last level that is too near, which may lie between two levels.
        return min(max(at_once, _least_beyond(known, levels[place - 1])), self._farthest)

    def bisect(self) -> None:
        """Bisect the distance levels between bound and best order until time is over."""
        levels = _levels(self._matrix)
        # An order keeps to the level `high`; no order was found at `low` or below it.
        high = int(np.searchsorted(levels, self._farthest))
        low = begun = int(np.searchsorted(levels, self._bound)) - 1
        proven = low
        least = _ONE_BEYOND * _least_weight(self._form)
        # The bound is met more often than not.
        middle = low + 1
        while high - low > 1 and self._suffices_for_others() and not self.is_interrupted:
            beyond = (self._matrix > levels[middle]).astype(np.float64)
            found = self._run(beyond, 1.0 / (1.0 + math.log2(high - low)))
            self._keep(found.order)
            if found.cost == 0.0:
                high = int(np.searchsorted(levels, self._farthest))
            else:
                low = middle
                if found.lower_bound > least and self._is_all_known:
                    proven = middle
            middle = (low + high) // 2
        if begun < proven < len(levels) - 1:
            beyond = _least_beyond(self._matrix, levels[proven])
            self._bound = min(max(self._bound, beyond), self._farthest)

    def cheapest(self, slack: float, deadline: Deadline) -> BottleneckSolution:
        """Return the cheapest order found with about the least greatest distance."""
        limit = self._farthest * (1.0 + slack)
        near = [one for one in (*self._cheap, self.order) if self._reach(one) <= limit]
        # The first of several that cost the same: the given one.
        self.order = min(near, key=self._cost)
        cost = self._cost(self.order)
        self._deadline = deadline
        if not self._suffices_for_others():
            return self.solution(self.order, 0.0, "time")
        # One step beyond makes any order dearer than the one there is.
        dear = cost / _least_weight(self._form)
        found = self._run(np.where(self._matrix > limit, self._matrix + dear, self._matrix), 1.0)
        is_better = self._reach(found.order) <= limit and self._cost(found.order) < cost
        order = found.order if is_better else self.order
        bound = min(found.lower_bound, self._cost(order)) if self._is_all_known else 0.0
        return self.solution(order, bound, found.ended_by)

    def solution(
        self, order: Sequence[int], cost_bound: float, ended_by: EndedBy
    ) -> BottleneckSolution:
        """Return the result of the search."""
        if ended_by in ("exact", "bound") and self._farthest > self._bound:
            ended_by = "time" if self._left_s() <= 0.0 else "steps"
        return BottleneckSolution(
            list(order),
            self._reach(order),
            self._bound,
            self._cost(order),
            cost_bound,
            ended_by,
            self._steps,
        )

    def _cost(self, order: Sequence[int]) -> float:
        return self._prices.of(order)

    def _reach(self, order: Sequence[int]) -> float:
        return self._used.farthest(self._matrix, order)

    def _run(self, matrix: Matrix, share: float) -> OrderSolution:
        limit_s = max(1e-3, share * self._left_s())
        proof_s = _PROOF_SHARE * limit_s
        found = search_with_slots(
            self._form,
            matrix,
            self._layout,
            self.order,
            seed=self._seed,
            time_limit_s=limit_s - proof_s,
            threads=self._threads,
            proof_limit_s=proof_s,
            on_progress=None if self._on_progress is None else self._tell,
        )
        self._steps += found.steps
        self.is_interrupted = self.is_interrupted or found.ended_by == "interrupt"
        return found

    def _keep(self, order: Sequence[int]) -> None:
        """Keep an order if its greatest distance is at most the best one's."""
        farthest = self._reach(order)
        if farthest <= self._farthest:
            self.order, self._farthest = list(order), farthest

    def _tell(self, _: SearchProgress) -> None:
        if self._on_progress is not None:
            seconds = self._limit_s - self._whole.left_s
            self._on_progress(SearchProgress(seconds, self._farthest, self._bound))

    def _left_s(self) -> float:
        return self._deadline.left_s

    def _suffices_for_others(self) -> bool:
        """Return whether time is left to search with other distances."""
        return self._left_s() > _S_PER_PAIR * len(self._matrix) ** 2


def _least_weight(form: Form) -> float:
    """Return the least weight of a step in a form's cost."""
    if not isinstance(form, RoundsForm):
        return 1.0
    return min((step.weight for step in form.rounds if len(step.edges)), default=1.0)


def _least_beyond(matrix: Matrix, level: float) -> float:
    """Return the least distance greater than a value, row by row to save memory."""
    return float(min(row.min(where=row > level, initial=np.inf) for row in matrix))


def _levels(matrix: Matrix) -> npt.NDArray[np.float64]:
    """Return ascending distance levels, (L,), from least to greatest; a sample if very many."""
    size = len(matrix)
    if size <= _MOST_WITH_ALL_LEVELS:
        return np.unique(matrix)
    hosts = np.arange(size)[:, None]
    steps = np.linspace(1, size // 2, _PAIRS_A_HOST).astype(np.intp)
    sample = matrix[hosts, (hosts + steps) % size].ravel()
    return np.unique(np.append(sample, [0.0, matrix.max()]))
