"""Search for rank orders with a low latency cost, with a bound on the possible improvement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plink.solvers.annealing.courses import course, spread
from plink.solvers.bounds.lower_bound import lower_bound_of_checked
from plink.solvers.collectives.cost import Prices, latency_cost
from plink.solvers.collectives.form import Form, MeshForm, RingForm, RoundsForm, TreesForm
from plink.solvers.distances import Matrix, check_distances
from plink.solvers.limits.deadline import Deadline
from plink.solvers.linkages import order_by_clusters
from plink.solvers.ring.ring_search import search_checked_ring
from plink.solvers.search import (
    TOLERANCE,
    EndedBy,
    OnProgress,
    Search,
    Solution,
    check_options,
    search_in_threads,
)

# All 40,320 orders of so many ranks are tried.
_MAX_TRIED_RANKS = 8

_PROOF_SHARE = 0.2

# Orders of so few ranks are tried for so long in any case, which is mostly enough.
_LEAST_TRIED_S = 0.1

# The share of the time for an order to begin with.
_START_SHARE = 0.25

_SEEDS = 1 << 63


def search_by_latency(
    form: Form,
    distance: Matrix,
    given: Sequence[int] | None = None,
    *,
    seed: int = 0,
    time_limit_s: float = 2.0,
    threads: int = 1,
    steps: int | None = None,
    proof_limit_s: float | None = None,
    on_progress: OnProgress | None = None,
) -> Solution:
    """Return the cheapest order found in the time limit, never dearer than the given one.

    Args:
        form: what the cost sums (Luo 2020, §5.2.1), over N ranks.
        distance: (N, N), symmetric, zero diagonal, finite, not negative.
        given: a permutation of the N indices; 0 ... N-1 if None. Returned as it is where nothing
            cheaper is found.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the search. An interrupt (Ctrl-C) ends it earlier, with the best so far.
        threads: searches at the same time, each from another seed.
        steps: moves that each thread tries, if not as many as the time allows: then the same seed
            and threads give the same answer, unless time ends the search first. Not for rings.
        proof_limit_s: for the lower bound, after the search; if None, a fifth of what the search
            took. With 0, no bound is looked for. A ring's bound is a part of its search.
        on_progress: called some twenty times a second.

    Raises:
        ValueError: a matrix or an order that is invalid or does not fit the form, or a seed, time
            limit, or number of threads or steps out of range.
    """
    if form.ranks < 1:
        raise ValueError(f"the form has {form.ranks} ranks, expected at least 1")
    deadline = Deadline(time_limit_s)
    given_s = deadline.left_s
    proof = Deadline(time_limit_s + (proof_limit_s or _PROOF_SHARE * time_limit_s))
    matrix = check_distances(distance, form.ranks)
    order = check_options(
        range(form.ranks) if given is None else given,
        form.ranks,
        seed=seed,
        time_limit_s=time_limit_s,
        threads=threads,
        steps=steps,
    )
    if isinstance(form, RingForm):
        return _search_rings(
            matrix,
            order,
            seed=seed,
            deadline=deadline,
            threads=threads,
            on_progress=on_progress,
        )
    given_cost = latency_cost(form, matrix, order)
    if given_cost == 0.0:
        return Solution(order, given_cost, given_cost, "exact", 0, "annealing")
    if form.ranks <= _MAX_TRIED_RANKS:
        best = brute_force(form, matrix, order, deadline.at_least(_LEAST_TRIED_S))
        if best.ended_by == "exact":
            return replace(best, steps=0)
        return replace(best, lower_bound=_prove_bound(form, matrix, proof), steps=0)
    best = anneal(
        form,
        matrix,
        order,
        seed=seed,
        deadline=deadline,
        threads=threads,
        steps=steps,
        on_progress=on_progress,
    )
    cost = latency_cost(form, matrix, best.order)
    best = replace(best, cost=cost)
    if given_cost <= cost:
        best = replace(best, order=order, cost=given_cost)
    if best.is_interrupted:
        return replace(best, lower_bound=0.0)
    if proof_limit_s is None:
        proof_limit_s = _PROOF_SHARE * (given_s - deadline.left_s)
    bound = 0.0
    if proof_limit_s > 0.0:
        bound = min(best.cost, _prove_bound(form, matrix, proof.within(proof_limit_s)))
    is_optimal = best.cost <= bound * (1.0 + TOLERANCE)
    return replace(best, lower_bound=bound, ended_by="bound" if is_optimal else best.ended_by)


def brute_force(form: Form, distance: Matrix, given: Sequence[int], deadline: Deadline) -> Solution:
    """Return the cheapest of all orders; the given one if none is cheaper."""
    search = Search(lambda order: latency_cost(form, distance, order), given, deadline)
    prices = Prices(form, distance)
    # A ring costs the same from whichever host it begins.
    fixed = 1 if isinstance(form, RingForm) else 0
    return search.run(
        lambda: search.try_all(lambda orders, _: prices.price_all(orders), fixed), "annealing"
    )


def anneal(
    form: RoundsForm | TreesForm,
    distance: Matrix,
    given: Sequence[int],
    *,
    seed: int,
    deadline: Deadline,
    threads: int = 1,
    steps: int | None = None,
    on_progress: OnProgress | None = None,
) -> Solution:
    """Return the cheapest order that annealing in several threads finds, without a bound.

    Arguments as those of `search_by_latency`, checked.
    """
    # An interrupt stops the threads, but not what comes after them.
    shared = Deadline(deadline.left_s)
    price = Prices(form, distance).of
    try:
        leaves = order_by_clusters(distance, shared.part(_START_SHARE))
        start = min([*_list_starts(form, leaves), list(given)], key=price)
        unit = spread(distance)
    except KeyboardInterrupt:
        return Solution(list(given), price(given), 0.0, "interrupt", 0, "annealing")
    seeds = np.random.SeedSequence(seed).generate_state(threads, np.uint64)

    def run(number: int) -> Solution:
        told = on_progress if number == 0 else None
        # A native evaluator must not be used by two threads at the same time.
        own_price = price if number == 0 else Prices(form, distance).of
        search = Search(own_price, start, shared, most_steps=steps, on_progress=told)

        def climb() -> EndedBy:
            try:
                annealing = course(
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

    return search_in_threads(run, threads, shared, ends_together=steps is None)


def _list_starts(form: RoundsForm | TreesForm, hosts: list[int]) -> list[list[int]]:
    """Return starting orders in which near hosts are adjacent.

    Elsewhere than in a mesh, these have numbers that are near.
    """
    if not isinstance(form, MeshForm):
        return [hosts]
    inverse = (np.argsort(sequence) for sequence in form.sequences)
    return [np.array(hosts)[places].tolist() for places in inverse]


def _search_rings(
    matrix: Matrix,
    given: list[int],
    *,
    seed: int,
    deadline: Deadline,
    threads: int,
    on_progress: OnProgress | None,
) -> Solution:
    """Return the cheapest ring of searches in several threads with different seeds."""
    shared = Deadline(deadline.left_s)

    def run(number: int) -> Solution:
        return search_checked_ring(
            matrix,
            given,
            seed=(seed + number) % _SEEDS,
            deadline=shared,
            on_progress=on_progress if number == 0 else None,
        )

    return search_in_threads(run, threads, shared, ends_together=True)


def _prove_bound(form: Form, matrix: Matrix, deadline: Deadline) -> float:
    try:
        return lower_bound_of_checked(form, matrix, deadline).value
    except KeyboardInterrupt:
        # The order is there; only how good it is remains unknown.
        return 0.0
