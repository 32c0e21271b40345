"""Rings: `solvers.ring` in the shape of any other order's search, over several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from solvers.orders.solution import EndedBy, OrderSolution, Progress
from solvers.ring import solution
from solvers.ring.ring_search import search_ring

Matrix = npt.NDArray[np.float64]

_SEEDS = 1 << 63


def solve_ring(
    distance: Matrix,
    given: list[int],
    *,
    seed: int,
    time_limit_s: float,
    threads: int,
    on_progress: Callable[[Progress], None] | None,
) -> OrderSolution:
    """The cheapest ring of all threads; the first one has the seed itself."""

    def tell(progress: solution.Progress) -> None:
        if on_progress is not None:
            on_progress(Progress(progress.seconds, progress.cost, progress.lower_bound))

    is_over = threading.Event()

    def heed(_: solution.Progress) -> None:
        # What ends a search early, from inside of it, with the best so far.
        if is_over.is_set():
            raise KeyboardInterrupt

    def run(number: int) -> solution.RingSolution:
        return search_ring(
            distance,
            given,
            seed=(seed + number) % _SEEDS,
            time_limit_s=time_limit_s,
            on_progress=tell if number == 0 else heed,
        )

    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(run, number) for number in range(1, threads)]
        first = run(0)
        is_over.set()
        found = [first, *(other.result() for other in others)]
    best = min(found, key=lambda one: one.cost)
    bound = min(best.cost, max(one.lower_bound for one in found))
    ended_by: EndedBy = "steps" if first.ended_by == "kicks" else first.ended_by
    return OrderSolution(best.order, best.cost, bound, ended_by, sum(one.kicks for one in found))
