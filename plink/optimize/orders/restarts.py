"""Several runs of an order search with different seeds, in threads, on Dask or on Ray."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.optimize.executors import LOCAL, map_seeds
from plink.optimize.orders.contention import ContentionObjective
from plink.optimize.orders.latency import LatencyObjective
from plink.optimize.orders.request import OrderRequest
from plink.solvers.limits import Deadline
from plink.solvers.search import SearchOptions, Solution

# As many seeds are drawn as there are restarts, in a range that every search takes.
_SEEDS = 1 << 63


def search_in_restarts(
    objective: LatencyObjective | ContentionObjective, request: OrderRequest
) -> Solution:
    """Run an order search with several seeds; return the cheapest, the first of equals.

    Raises:
        WrongUseError: such a search goes by time alone, or there is no such engine.
        PlinkError: the engine failed.
    """
    if request.interleave or not objective.goes_by_steps:
        raise WrongUseError(
            "{executor=} needs a search that is limited by steps, but one with ranks of a host "
            "apart, or with different numbers of slots, is limited by time",
            "leave out {executor=}",
            arguments={"executor": request.executor},
        )
    seeds = np.random.SeedSequence(request.seed).generate_state(request.restarts, np.uint64)
    alone = objective.in_one_thread()
    problem = alone, list(range(objective.layout.hosts)), request.steps
    found = map_seeds(
        request.executor or LOCAL,
        request.threads,
        _restart,
        problem,
        [int(seed) % _SEEDS for seed in seeds],
    )
    best = min(found, key=lambda one: one.cost)
    bound_us = max([one.lower_bound for one in found])
    bound_us = max(bound_us, alone.bound_us(best.order, request.time_limit_s))
    return replace(
        best,
        lower_bound=min(best.cost, bound_us),
        steps=sum(one.steps for one in found),
    )


def _restart(
    problem: tuple[LatencyObjective | ContentionObjective, Sequence[int], int], seed: int
) -> Solution:
    """Run the search once with a seed of its own, on whichever machine the executor chose."""
    # A copy, as an objective keeps native evaluators, which two threads must not use together.
    objective, given, steps = problem
    alone = objective.in_one_thread()
    found = alone.solve(given, SearchOptions(Deadline(), seed, steps=steps))
    if found.is_interrupted:
        raise KeyboardInterrupt
    return found
