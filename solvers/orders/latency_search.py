"""Search for rank orders with a low latency cost, with a bound on the possible improvement."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from plink.solvers.annealing.phased_annealing import build_annealing, spread
from plink.solvers.bounds.lower_bound import lower_bound
from plink.solvers.collectives.cost import Prices, latency_cost
from plink.solvers.collectives.form import Form, MeshForm, RingForm, RoundsForm, TreesForm
from plink.solvers.distances import Matrix, check_distances
from plink.solvers.limits import Deadline
from plink.solvers.linkages import order_by_clusters
from plink.solvers.ring.ring_search import search_checked_ring
from plink.solvers.search import (
    LEAST_S,
    TOLERANCE,
    EndedBy,
    OnProgress,
    Search,
    SearchOptions,
    Solution,
    check_options,
    search_in_threads,
)
from plink.solvers.slots.anneal import TURNS, anneal_order, search_by_places
from plink.solvers.slots.bound import slots_bound
from plink.solvers.slots.layout import RankLayout, condense_form, idle_form, prices_with_slots
from plink.solvers.slots.rings import solve_subset_ring

# All 40,320 orders of so many ranks are tried.
_MAX_TRIED_RANKS = 8

_PROOF_SHARE = 0.2

# Orders of so few ranks are tried for so long in any case, which is mostly enough.
_LEAST_TRIED_S = 0.1

# The share of the time for an order to begin with, found for hosts with several slots by searches
# that assume that places keep their numbers of ranks.
_START_SHARE = 0.25

# All 720 orders of so many hosts are tried.
_MOST_TRIED_HOSTS = 6

# So few hosts are mostly searched to the end, which proves more than a bound does.
_MOST_SEARCHED_HOSTS = 16

_SEARCH_SHARE = 0.5

_SEEDS = 1 << 63


def search_by_latency(
    form: Form,
    distance: Matrix,
    given: Sequence[int] | None = None,
    *,
    layout: RankLayout | None = None,
    seed: int = 0,
    time_limit_s: float = 2.0,
    threads: int = 1,
    steps: int | None = None,
    proof_limit_s: float | None = None,
    on_progress: OnProgress | None = None,
) -> Solution:
    """Search for the rank order of least latency cost, and a bound; never dearer than `given`.

    Where the ranks' places say on which host of the order they are, this is a search over hosts, of
    which those without a rank stand at the end: rounds and trees with idle ranks, and rings through
    some hosts. Else (hosts with different numbers of slots; trees over several ranks a host) any
    order is priced as a whole while annealing.

    Args:
        form: what the cost sums (Luo 2020, §5.2.1), over all ranks.
        distance: (N, N) between hosts, symmetric, zero diagonal, finite, not negative.
        given: a permutation of the N hosts; 0 ... N-1 if None. Returned as it is where nothing
            cheaper is found.
        layout: how the ranks fill the hosts; None for one on each.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the search. An interrupt (Ctrl-C) ends it earlier, with the best so far.
        threads: searches at the same time, each from another seed, where hosts take as many ranks.
        steps: moves that each thread tries, if not as many as the time allows: then the same seed
            and threads give the same answer, unless time ends the search first. Not for rings.
        proof_limit_s: for the lower bound, after the search; if None, a fifth of what the search
            took. With 0, no bound is looked for. A ring's bound is a part of its search.
        on_progress: called some twenty times a second.

    Returns:
        a permutation of all hosts; the lower bound holds for every choice and order of them.

    Raises:
        ValueError: a matrix or an order that is invalid or does not fit the form, or a seed, time
            limit, or number of threads or steps out of range.
    """
    if form.ranks < 1:
        raise ValueError(f"form has {form.ranks} ranks, expected at least 1")
    if layout is not None and form.ranks != layout.ranks:
        raise ValueError(f"form has {form.ranks} ranks, expected {layout.ranks} as in layout")
    deadline = Deadline(time_limit_s)
    given_s = deadline.left_s
    most_proof_s = _PROOF_SHARE * time_limit_s if proof_limit_s is None else proof_limit_s
    proof = Deadline(time_limit_s + most_proof_s)
    hosts = form.ranks if layout is None else layout.hosts
    matrix = check_distances(distance, hosts)
    order = check_options(
        range(hosts) if given is None else given,
        hosts,
        seed=seed,
        time_limit_s=time_limit_s,
        threads=threads,
        steps=steps,
    )
    options = SearchOptions(deadline, seed, threads, steps, on_progress)
    if layout is not None:
        over_hosts = idle_form(form, layout)
        if over_hosts is None and isinstance(form, RingForm) and layout.is_even:
            return solve_subset_ring(matrix, layout, order, options)
        if over_hosts is None:
            return _WholeOrders(form, matrix, layout).search(order, options, proof)
        form = over_hosts
    if isinstance(form, RingForm):
        return _search_rings(matrix, order, options)
    best = _search_hosts(form, matrix, order, options)
    if best.is_interrupted or best.ended_by == "exact":
        return best
    if proof_limit_s is None:
        proof_limit_s = _PROOF_SHARE * (given_s - deadline.left_s)
    bound = 0.0
    if proof_limit_s > 0.0:
        # After an interrupt the order is there; only how good it is remains unknown.
        with suppress(KeyboardInterrupt):
            bound = lower_bound(form, matrix, proof.within(proof_limit_s))
        bound = min(best.cost, bound)
    is_optimal = best.cost <= bound * (1.0 + TOLERANCE)
    return replace(best, lower_bound=bound, ended_by="bound" if is_optimal else best.ended_by)


def _search_hosts(
    form: RoundsForm | TreesForm, matrix: Matrix, given: list[int], options: SearchOptions
) -> Solution:
    """Search for the cheapest order of one rank a host; few hosts exactly, else without a bound."""
    given_cost = latency_cost(form, matrix, given)
    if given_cost == 0.0:
        return Solution(given, given_cost, given_cost, "exact", 0, "annealing")
    if form.ranks <= _MAX_TRIED_RANKS:
        deadline = options.deadline.at_least(_LEAST_TRIED_S)
        return replace(brute_force(form, matrix, given, deadline), steps=0)
    best = anneal(form, matrix, given, options)
    cost = latency_cost(form, matrix, best.order)
    if given_cost <= cost:
        return replace(best, order=given, cost=given_cost)
    return replace(best, cost=cost)


def brute_force(form: Form, distance: Matrix, given: Sequence[int], deadline: Deadline) -> Solution:
    """Try all orders and return the cheapest; `given` if none is cheaper."""
    search = Search(lambda order: latency_cost(form, distance, order), given, deadline)
    prices = Prices(form, distance)
    # A ring costs the same from whichever host it begins.
    fixed = 1 if isinstance(form, RingForm) else 0
    return search.run(
        lambda: search.try_all(lambda orders, _: prices.price_all(orders), fixed), "annealing"
    )


def anneal(
    form: RoundsForm | TreesForm, distance: Matrix, given: Sequence[int], options: SearchOptions
) -> Solution:
    """Return the cheapest order that annealing in several threads finds; no bound is proven."""
    # An interrupt stops the threads, but not what comes after them.
    shared = Deadline(options.deadline.left_s)
    price = Prices(form, distance).of
    try:
        leaves = order_by_clusters(distance, shared.part(_START_SHARE))
        # Near hosts stand together in all of these; so do ranks with near numbers, but in a mesh.
        starts = [leaves]
        if isinstance(form, MeshForm):
            places = [np.argsort(sequence) for sequence in form.sequences]
            starts = [np.array(leaves)[each].tolist() for each in places]
        start = min([*starts, list(given)], key=price)
        unit = spread(distance)
    except KeyboardInterrupt:
        return Solution(list(given), price(given), 0.0, "interrupt", 0, "annealing")
    seeds = np.random.SeedSequence(options.seed).generate_state(options.threads, np.uint64)

    def run(number: int) -> Solution:
        told = options.on_progress if number == 0 else None
        # A native evaluator must not be used by two threads at the same time.
        own_price = price if number == 0 else Prices(form, distance).of
        search = Search(own_price, start, shared, most_steps=options.steps, on_progress=told)

        def climb() -> EndedBy:
            try:
                annealing = build_annealing(
                    form, distance, start, unit, seed=int(seeds[number]), deadline=shared
                )
            except TimeoutError:
                return "time"
            try:
                while True:
                    search.steps += annealing.step(search.progress, shared)
                    if annealing.best_cost < search.cost:
                        search.offer(annealing.best)
                    search.tell()
                    if search.ended_by is not None:
                        return search.ended_by
            finally:
                search.offer(annealing.best)

        return search.run(climb, "annealing")

    return search_in_threads(run, options.threads, shared, ends_together=options.steps is None)


@dataclass(frozen=True)
class _WholeOrders:
    """Search for orders of hosts with unequal slots, each priced by placing all ranks."""

    form: Form
    matrix: Matrix
    layout: RankLayout

    @cached_property
    def _prices(self) -> Prices:
        return prices_with_slots(self.form, self.matrix, self.layout)

    def search(self, given: list[int], options: SearchOptions, proof: Deadline) -> Solution:
        """Return the cheapest order that annealing finds, or trying all orders of few hosts."""
        price = self._prices.of
        given_cost = price(given)
        if given_cost == 0.0:
            return Solution(given, 0.0, 0.0, "exact", 0, "annealing")
        if self.layout.hosts <= _MOST_TRIED_HOSTS:
            every = Search(price, given, proof)
            costs_of = partial(self._prices.price_first, least=1)
            return every.run(lambda: every.try_all(costs_of), "annealing")
        try:
            start = self._start(given, options.seed, options.deadline.part(_START_SHARE))
        except KeyboardInterrupt:
            return Solution(given, given_cost, 0.0, "interrupt", 0, "annealing")
        best = anneal_order(price, start, self.layout.count_used, options)
        if given_cost <= best.cost:
            best = replace(best, order=given, cost=given_cost)
        if best.is_interrupted:
            return best
        bound = slots_bound(self.form, self.matrix, self.layout, proof.left_s)
        return replace(best, lower_bound=min(best.cost, bound))

    def _start(self, given: list[int], seed: int, deadline: Deadline) -> list[int]:
        """Return a cheap order to start the search from."""
        starts = [given, order_by_clusters(self.matrix, deadline.part(0.5))]
        form = self.form
        if not isinstance(form, RoundsForm):
            return min(starts, key=self._prices.of)

        def search(place_of: npt.NDArray[np.intp], start: Sequence[int]) -> Sequence[int]:
            found = search_by_latency(
                condense_form(form, place_of, self.layout.hosts),
                self.matrix,
                start,
                seed=seed,
                time_limit_s=max(deadline.left_s / TURNS, LEAST_S),
                proof_limit_s=0.0,
            )
            if found.is_interrupted:
                raise KeyboardInterrupt
            return found.order

        return search_by_places(self.layout, starts, self._prices.of, search, deadline)


def _search_rings(matrix: Matrix, given: list[int], options: SearchOptions) -> Solution:
    """Return the cheapest ring that searches in several threads, with different seeds, find."""
    shared = Deadline(options.deadline.left_s)

    def run(number: int) -> Solution:
        told = options.on_progress if number == 0 else None
        seed = (options.seed + number) % _SEEDS
        return search_checked_ring(matrix, given, SearchOptions(shared, seed, on_progress=told))

    return search_in_threads(run, options.threads, shared, ends_together=True)


def least_cost(
    form: Form, distance: Matrix, layout: RankLayout, order: Sequence[int], time_limit_s: float
) -> float:
    """Return a lower bound, within a time limit, on the latency cost of all orders of hosts.

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
            found = search_by_latency(
                form, distance, order, layout=layout, time_limit_s=limit_s, proof_limit_s=limit_s
            ).lower_bound
        elif simpler is not None:
            found = lower_bound(simpler, distance, Deadline(time_limit_s))
        else:
            found = slots_bound(form, distance, layout, time_limit_s)
    except KeyboardInterrupt:
        pass
    return found
