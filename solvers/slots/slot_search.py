"""Search for cheap orders of hosts that take several ranks, or of which some stay unused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.collectives.cost import Prices, latency_cost
from plink.solvers.collectives.form import Form, RingForm, RoundsForm
from plink.solvers.distances import check_distances
from plink.solvers.limits.deadline import Deadline
from plink.solvers.linkages import order_by_clusters
from plink.solvers.orders.latency_search import search_by_latency
from plink.solvers.search import LEAST_S, OnProgress, Search, Solution, check_options
from plink.solvers.slots.anneal import TURNS, anneal_order, search_by_places
from plink.solvers.slots.bound import slots_bound
from plink.solvers.slots.layout import RankLayout, condense_form, pad_form
from plink.solvers.slots.rings import solve_subset_ring

Matrix = npt.NDArray[np.float64]

# All 720 orders of so many hosts are tried.
_MOST_TRIED_HOSTS = 6

# The share of the time for searches that assume that places keep their numbers of ranks.
_START_SHARE = 0.25

# So few hosts are mostly searched to the end, which proves more than a bound does.
_MOST_SEARCHED_HOSTS = 16

_SEARCH_SHARE = 0.5


def cost_with_slots(
    form: Form, distance: Matrix, layout: RankLayout, order: Sequence[int]
) -> float:
    """Return the latency cost of an order of all hosts; ranks of a host exchange for free."""
    if isinstance(form, RingForm):
        return latency_cost(RingForm(layout.hosts), distance, order[: layout.count_used(order)])
    return latency_cost(form, distance, layout.placement(order).tolist())


def prices_with_slots(form: Form, distance: Matrix, layout: RankLayout) -> Prices:
    """Return an evaluator of orders' costs, by host if slots are equal and else by rank."""
    if isinstance(form, RoundsForm) and layout.is_even:
        places = -(-layout.ranks // layout.slots[0])
        between = condense_form(form, layout.position_by_rank, places)
        return Prices(between, distance, ranks=places)
    return Prices(form, distance, layout.slots, layout.ranks)


def search_with_slots(
    form: Form,
    distance: Matrix,
    layout: RankLayout,
    given: Sequence[int],
    *,
    seed: int = 0,
    time_limit_s: float = 2.0,
    threads: int = 1,
    steps: int | None = None,
    proof_limit_s: float = 0.0,
    on_progress: OnProgress | None = None,
) -> Solution:
    """Return the cheapest order found in the time limit, never dearer than the given one.

    Where the ranks' places say on which host of the order they are, this is a search over hosts, of
    which those without a rank stand at the end: rounds and trees with idle ranks, and rings through
    some hosts. Else (hosts with different numbers of slots; trees over several ranks a host) any
    order is priced as a whole while annealing.

    Args:
        form: what the cost sums (Luo 2020, §5.2.1), over all ranks.
        distance: (H, H), symmetric, zero diagonal, finite, not negative.
        layout: how ranks fill the H hosts.
        given: a permutation of all hosts.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the search. An interrupt (Ctrl-C) ends it earlier, with the best so far.
        threads: searches at the same time, where all hosts take as many ranks.
        steps: steps of a search over hosts, as `search_by_latency`.
        proof_limit_s: for the lower bound, after the search; left out with 0. A ring's is free.
        on_progress: called some twenty times a second.

    Returns:
        a permutation of all hosts; the lower bound holds for every choice and order of them.

    Raises:
        ValueError: as `search_by_latency`, or a form of another number of ranks.
    """
    deadline = Deadline(time_limit_s + proof_limit_s)
    if form.ranks != layout.ranks:
        raise ValueError(f"the form has {form.ranks} ranks, the layout {layout.ranks}")
    matrix = check_distances(distance, layout.hosts)
    simpler = idle_form(form, layout)
    if simpler is not None:
        return search_by_latency(
            simpler,
            matrix,
            given,
            seed=seed,
            time_limit_s=max(deadline.left_s - proof_limit_s, LEAST_S),
            threads=threads,
            steps=steps,
            proof_limit_s=proof_limit_s,
            on_progress=on_progress,
        )
    order = check_options(given, layout.hosts, seed=seed, time_limit_s=time_limit_s)
    if isinstance(form, RingForm) and layout.is_even:
        return solve_subset_ring(
            matrix, layout, order, seed=seed, deadline=deadline, on_progress=on_progress
        )
    whole = _WholeOrderSearch(form, matrix, layout, order)
    return whole.solve(seed, deadline, proof_limit_s, on_progress)


def idle_form(form: Form, layout: RankLayout) -> Form | None:
    """Return an equal latency cost over all hosts, some of them idle; None if there is none."""
    if isinstance(form, RingForm):
        return RingForm(layout.hosts) if layout.takes_all_hosts else None
    if not layout.is_even:
        return None
    if isinstance(form, RoundsForm):
        return condense_form(form, layout.position_by_rank, layout.hosts)
    return pad_form(form, layout.hosts) if layout.slots[0] == 1 else None


@dataclass(frozen=True)
class _WholeOrderSearch:
    """Search that evaluates the cost of every order from scratch."""

    form: Form
    matrix: Matrix
    layout: RankLayout
    given: list[int]

    @cached_property
    def _prices(self) -> Prices:
        return prices_with_slots(self.form, self.matrix, self.layout)

    def price(self, order: Sequence[int]) -> float:
        return self._prices.of(order)

    def solve(
        self,
        seed: int,
        deadline: Deadline,
        proof_limit_s: float,
        on_progress: OnProgress | None,
    ) -> Solution:
        given_cost = self.price(self.given)
        if given_cost == 0.0:
            return Solution(self.given, 0.0, 0.0, "exact", 0, "annealing")
        if self.layout.hosts <= _MOST_TRIED_HOSTS:
            every = Search(self.price, self.given, deadline)
            costs_of = partial(self._prices.price_first, least=1)
            return every.run(lambda: every.try_all(costs_of), "annealing")
        search = deadline.within(deadline.left_s - proof_limit_s)
        try:
            start = self._start(seed, search.part(_START_SHARE))
        except KeyboardInterrupt:
            return Solution(self.given, given_cost, 0.0, "interrupt", 0, "annealing")
        found = anneal_order(
            self.price,
            start,
            self.layout.count_used,
            seed=seed,
            deadline=search,
            on_progress=on_progress,
        )
        if given_cost <= found.cost:
            found = replace(found, order=self.given, cost=given_cost)
        if found.is_interrupted:
            return found
        proof_s = min(proof_limit_s, deadline.left_s)
        bound = slots_bound(self.form, self.matrix, self.layout, proof_s)
        return replace(found, lower_bound=min(found.cost, bound))

    def _start(self, seed: int, deadline: Deadline) -> list[int]:
        """Return a cheap order to start the search from."""
        starts = [self.given, order_by_clusters(self.matrix, deadline.part(0.5))]
        form = self.form
        if not isinstance(form, RoundsForm):
            return min(starts, key=self.price)
        hosts = self.layout.hosts

        def search(place_of: npt.NDArray[np.intp], start: Sequence[int]) -> Sequence[int]:
            found = search_by_latency(
                condense_form(form, place_of, hosts),
                self.matrix,
                start,
                seed=seed,
                time_limit_s=max(deadline.left_s / TURNS, LEAST_S),
                proof_limit_s=0.0,
            )
            if found.ended_by == "interrupt":
                raise KeyboardInterrupt
            return found.order

        return search_by_places(self.layout, starts, self.price, search, deadline)


def least_cost(
    form: Form, distance: Matrix, layout: RankLayout, order: Sequence[int], time_limit_s: float
) -> float:
    """Return a quick lower bound on the cost over all orders and choices of hosts.

    For where orders are searched on other distances than those that something is proven of.

    Args:
        form: what the cost sums up, over all ranks.
        distance: (H, H), symmetric, zero diagonal, finite, not negative.
        layout: how ranks fill the H hosts.
        order: a permutation of the hosts, for few hosts' search to begin with.
        time_limit_s: for the proof. An interrupt (Ctrl-C) ends it with 0 or what there is.
    """
    simpler = idle_form(form, layout)
    found = 0.0
    try:
        if layout.hosts <= _MOST_SEARCHED_HOSTS:
            limit_s = _SEARCH_SHARE * time_limit_s
            found = search_with_slots(
                form, distance, layout, order, time_limit_s=limit_s, proof_limit_s=limit_s
            ).lower_bound
        elif simpler is not None:
            found = lower_bound(simpler, distance, time_limit_s).value
        else:
            found = slots_bound(form, distance, layout, time_limit_s)
    except KeyboardInterrupt:
        pass
    return found
