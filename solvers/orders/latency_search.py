"""Search for a cheap order under any latency form, with a bound on the possible improvement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from plink.solvers.bounds.lower_bound import lower_bound_of_checked
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.distances import Matrix, check_distances
from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.orders.anneal import anneal
from plink.solvers.orders.brute_force import brute_force
from plink.solvers.orders.solution import EndedBy, OrderSolution
from plink.solvers.ring.ring_search import search_checked_ring
from plink.solvers.ring.solution import RingSolution

# All 40,320 orders of so many ranks are tried.
_MAX_TRIED_RANKS = 8

# Two costs that differ by less than this share are equal for every purpose.
_RELATIVE_TOLERANCE = 1e-9

_PROOF_SHARE = 0.2

# Orders of so few ranks are tried for so long in any case, which is mostly enough.
_LEAST_TRIED_S = 0.1

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
    on_progress: Callable[[SearchProgress], None] | None = None,
) -> OrderSolution:
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
    order = list(range(form.ranks)) if given is None else [int(host) for host in given]
    _require_options(
        order, form.ranks, seed=seed, time_limit_s=time_limit_s, threads=threads, steps=steps
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
        return OrderSolution(order, given_cost, given_cost, "exact", 0)
    if form.ranks <= _MAX_TRIED_RANKS:
        stage = brute_force(form, matrix, order, max(deadline.left_s, _LEAST_TRIED_S))
        cheapest = stage.order or order
        cost = latency_cost(form, matrix, cheapest)
        if given_cost <= cost * (1.0 + _RELATIVE_TOLERANCE):
            cheapest, cost = order, given_cost
        bound = cost if stage.is_final else _prove_bound(form, matrix, proof)
        return OrderSolution(cheapest, cost, bound, "exact" if stage.is_final else "time", 0)
    found, tried, ended_by = anneal(
        form,
        matrix,
        order,
        seed=seed,
        deadline=deadline,
        threads=threads,
        steps=steps,
        on_progress=on_progress,
    )
    cost = latency_cost(form, matrix, found)
    if given_cost <= cost:
        found, cost = order, given_cost
    if ended_by == "interrupt":
        return OrderSolution(found, cost, 0.0, ended_by, tried)
    if proof_limit_s is None:
        proof_limit_s = _PROOF_SHARE * (given_s - deadline.left_s)
    bound = 0.0
    if proof_limit_s > 0.0:
        bound = min(cost, _prove_bound(form, matrix, proof.within(proof_limit_s)))
    if cost <= bound * (1.0 + _RELATIVE_TOLERANCE):
        ended_by = "bound"
    return OrderSolution(found, cost, bound, ended_by, tried)


def _search_rings(
    matrix: Matrix,
    given: list[int],
    *,
    seed: int,
    deadline: Deadline,
    threads: int,
    on_progress: Callable[[SearchProgress], None] | None,
) -> OrderSolution:
    """Return the cheapest ring of searches in several threads with different seeds."""
    # What ends the first search ends the others.
    shared = Deadline(deadline.left_s)

    def run(number: int) -> RingSolution:
        return search_checked_ring(
            matrix,
            given,
            seed=(seed + number) % _SEEDS,
            deadline=shared,
            on_progress=on_progress if number == 0 else None,
        )

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(run, number) for number in range(1, threads)]
        try:
            first = run(0)
        finally:
            shared.stop()
        found = [first, *(other.result() for other in others)]
    best = min(found, key=lambda one: one.cost)
    bound = min(best.cost, max(one.lower_bound for one in found))
    ended_by: EndedBy = "steps" if first.ended_by == "kicks" else first.ended_by
    return OrderSolution(best.order, best.cost, bound, ended_by, sum(one.kicks for one in found))


def _prove_bound(form: Form, matrix: Matrix, deadline: Deadline) -> float:
    try:
        return lower_bound_of_checked(form, matrix, deadline).value
    except KeyboardInterrupt:
        # The order is there; only how good it is remains unknown.
        return 0.0


def require_order(order: Sequence[int], hosts: int) -> None:
    """Raise ValueError unless the order is a permutation of the hosts."""
    if sorted(order) != list(range(hosts)):
        raise ValueError(f"given is not a permutation of 0 to {hosts - 1}")


def _require_options(
    order: list[int], ranks: int, *, seed: int, time_limit_s: float, threads: int, steps: int | None
) -> None:
    require_order(order, ranks)
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"seed is {seed}, expected 0 to 2^63 - 1")
    if not time_limit_s > 0.0:
        raise ValueError(f"time_limit_s is {time_limit_s}, expected more than 0")
    if threads < 1:
        raise ValueError(f"threads is {threads}, expected at least 1")
    if steps is not None and steps < 1:
        raise ValueError(f"steps is {steps}, expected at least 1")
