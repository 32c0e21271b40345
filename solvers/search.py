"""Driver that all searches for orders use: limits, interrupts, progress, chains and threads.

A `Search` holds the cheapest order so far and what is proven of all. Costs plug in as a function
that prices an order, and algorithms as a function that offers orders until the search says what
ended it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from plink.solvers.limits import Deadline

EndedBy = Literal["exact", "bound", "steps", "chains", "time", "interrupt"]
Order = Sequence[int]
Orders = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Costs that differ by less than this share are equal for every purpose.
TOLERANCE = 1e-9

# A search has some time at least, in which it looks at the order to begin with.
LEAST_S = 1e-3

_TELL_S = 0.05

# Orders that are priced at the same time.
_AT_ONCE = 5040

# What stands beside an order's cost, to say how good it is.
RANDOM_ORDERS = 1001
_RANDOM_BLOCK = 1 << 16


@dataclass(frozen=True)
class Solution:
    """Rank order with its cost, a lower bound on any order's, and why the search ended.

    Args:
        order: `order[rank]` = host, or a permutation of all hosts that ranks fill from the front.
        cost: in the unit of what was searched.
        lower_bound: no order costs less; 0 where nothing is proven.
        ended_by: `exact` (every order was tried, or a proof), `bound` (the cost meets the bound),
            `steps` (as many as asked for, or as were worth it), `chains` (so many in a row found
            nothing better), `time`, or `interrupt`.
        steps: moves, kicks or orders tried, of all threads.
        solver: name of the algorithm.
    """

    order: Order
    cost: float
    lower_bound: float
    ended_by: EndedBy
    steps: int = 0
    solver: str = ""

    @property
    def is_interrupted(self) -> bool:
        """Whether the user ended the search with Ctrl-C."""
        return self.ended_by == "interrupt"


@dataclass(frozen=True)
class SearchProgress:
    """Progress of a search: elapsed seconds, cheapest cost so far, proven bound so far."""

    seconds: float
    cost: float
    lower_bound: float


OnProgress = Callable[[SearchProgress], None]


def scale_progress(on_progress: OnProgress | None, factor: float) -> OnProgress | None:
    """Return a progress callback that converts costs and bounds to another unit by a factor."""
    if on_progress is None:
        return None
    return lambda now: on_progress(
        SearchProgress(now.seconds, factor * now.cost, factor * now.lower_bound)
    )


def check_options(
    order: Order,
    hosts: int,
    *,
    seed: int = 0,
    time_limit_s: float = 1.0,
    threads: int = 1,
    steps: int | None = None,
) -> list[int]:
    """Validate a search's start order and options; return the order as a list of integers.

    Raises:
        ValueError: not a permutation of the hosts, or an option out of range.
    """
    numbers = [int(host) for host in order]
    if sorted(numbers) != list(range(hosts)):
        raise ValueError(f"the order to start from must be a permutation of 0 to {hosts - 1}")
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"seed is {seed}, expected 0 to 2^63 - 1")
    if not time_limit_s > 0.0:
        raise ValueError(f"time_limit_s is {time_limit_s}, expected more than 0")
    if threads < 1:
        raise ValueError(f"threads is {threads}, expected at least 1")
    if steps is not None and steps < 1:
        raise ValueError(f"steps is {steps}, expected at least 1")
    return numbers


@dataclass(frozen=True)
class SearchOptions:
    """Options of a search: deadline, seed, threads, steps and progress callback.

    Args:
        deadline: an interrupt (Ctrl-C) ends the search earlier, with the best so far.
        seed: decides every choice by chance.
        threads: searches at the same time.
        steps: moves that each thread tries, if not as many as the time allows.
        on_progress: called some twenty times a second.
    """

    deadline: Deadline
    seed: int = 0
    threads: int = 1
    steps: int | None = None
    on_progress: OnProgress | None = None


class Search:
    """State of a search for orders: best order and cost, proven bound, limits and progress.

    Args:
        price: cost of an order.
        start: order to begin with; kept where nothing is cheaper.
        deadline: when to end; `self.deadline` may be set to that of a part of the search. An
            interrupt (Ctrl-C) ends the search earlier, with the best so far.
        tie: what decides between orders of equal cost, less is better; None for nothing.
        most_steps: number of steps after which the search ends; None for no such limit.
        on_progress: called at most some twenty times a second.
    """

    def __init__(
        self,
        price: Callable[[Order], float],
        start: Order,
        deadline: Deadline,
        *,
        tie: Callable[[Order], float] | None = None,
        most_steps: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> None:
        self.deadline = deadline
        self.order = list(start)
        self.cost = price(start)
        self.tie = tie(start) if tie is not None else 0.0
        self.bound = 0.0
        self.steps = 0
        self._price = price
        self._tie = tie
        self._whole = deadline
        self._limit_s = max(deadline.left_s, 1e-6)
        self._most_steps = most_steps
        self._on_progress = on_progress
        self._told_s = -math.inf

    def offer(self, order: Order, cost: float | None = None) -> bool:
        """Keep an order if it is better than the best so far; return whether it was kept.

        Args:
            order: order to compare.
            cost: its cost, if it is known.
        """
        cost = self._price(order) if cost is None else cost
        is_cheaper = cost < self.cost * (1.0 - TOLERANCE)
        if not is_cheaper and (self._tie is None or cost > self.cost):
            return False
        tie = self._tie(order) if self._tie is not None else 0.0
        if not is_cheaper and tie >= self.tie * (1.0 - TOLERANCE):
            return False
        self.order, self.cost, self.tie = list(order), cost, tie
        return True

    @property
    def is_optimal(self) -> bool:
        """Whether the best cost meets the bound, and no tie can be broken any more."""
        return self.cost <= self.bound * (1.0 + TOLERANCE) and not self.tie

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return self._limit_s - self._whole.left_s

    @property
    def progress(self) -> float:
        """Share of the search's limit that is used, 0 to 1: steps if limited, else time."""
        if self._most_steps is not None:
            return min(1.0, self.steps / self._most_steps)
        return min(1.0, self.seconds / self._limit_s)

    @property
    def ended_by(self) -> EndedBy | None:
        """Reason for which the search must end now; None if it may continue."""
        if self.is_optimal:
            return "bound"
        if self._most_steps is not None and self.steps >= self._most_steps:
            return "steps"
        return "time" if self.deadline.is_over else None

    def tell(self) -> None:
        """Call the progress callback, at most some twenty times a second."""
        seconds = self.seconds
        if self._on_progress is not None and seconds >= self._told_s + _TELL_S:
            self._told_s = seconds
            self._on_progress(SearchProgress(seconds, self.cost, self.bound))

    def run(self, climb: Callable[[], EndedBy], solver: str = "") -> Solution:
        """Run an algorithm until it ends or Ctrl-C; return the best order that it offered."""
        try:
            ended_by = climb()
        except KeyboardInterrupt:
            ended_by = "interrupt"
        return Solution(
            self.order, self.cost, min(self.bound, self.cost), ended_by, self.steps, solver
        )

    def chains(
        self, chain: Callable[[int], None], most_idle: int, *, settled: EndedBy = "steps"
    ) -> EndedBy:
        """Run search chains until several in a row find nothing better, or a limit is met.

        Args:
            chain: run the chain of this number, from 0.
            most_idle: number of chains in a row that may find nothing better.
            settled: what to return after so many.
        """
        idle, number = 0, 0
        while idle < most_idle:
            ended_by = self.ended_by
            if ended_by is not None:
                return ended_by
            before = self.cost, self.tie
            chain(number)
            self.tell()
            number += 1
            idle = 0 if (self.cost, self.tie) < before else idle + 1
        return settled

    def try_all(
        self, costs_of: Callable[[Orders, Deadline], Floats] | None = None, fixed: int = 0
    ) -> EndedBy:
        """Try every permutation of the hosts until a limit; return what ended the search.

        Args:
            costs_of: costs (K,) of the first K of (M, N) orders, at least one of them, as many as
                the time allows; None to price one at a time.
            fixed: number of places that keep their hosts, 0 for none.
        """
        tails = itertools.permutations(range(fixed, len(self.order)))
        at_once = 1 if costs_of is None else _AT_ONCE
        while rows := list(itertools.islice(tails, at_once)):
            orders = np.array([[*range(fixed), *row] for row in rows], dtype=np.int64)
            priced, cheapest = 1, 0
            if costs_of is not None:
                costs = costs_of(orders, self.deadline)
                priced, cheapest = len(costs), int(costs.argmin())
            self.offer(orders[cheapest].tolist())
            self.steps += priced
            is_over = self.deadline.is_over and next(tails, None) is not None
            if is_over or priced < len(rows):
                return "time"
        self.bound = self.cost
        return "exact"


def search_in_threads(
    run: Callable[[int], Solution], threads: int, deadline: Deadline, *, ends_together: bool
) -> Solution:
    """Run searches in several threads at the same time; return the best solution.

    Args:
        run: run the search of this number; number 0 runs in the calling thread.
        threads: number of searches.
        deadline: deadline of all of them, which an interrupt stops.
        ends_together: the end of search 0 ends the others.
    """
    with ThreadPoolExecutor(max(1, threads - 1)) as pool:
        others = [pool.submit(run, number) for number in range(1, threads)]
        try:
            first = run(0)
            ended_by = first.ended_by
            if not ends_together and not first.is_interrupted:
                try:
                    wait(others)
                except KeyboardInterrupt:
                    ended_by = "interrupt"
        finally:
            # The pool waits for its threads before it lets an interrupt pass.
            deadline.stop()
        solutions = [first, *(other.result() for other in others)]
    best = min(solutions, key=lambda one: one.cost)
    bound = min(best.cost, max(one.lower_bound for one in solutions))
    steps = sum(one.steps for one in solutions)
    return Solution(best.order, best.cost, bound, ended_by, steps, best.solver)


def median_random_cost(
    costs_of: Callable[[Orders, Deadline], Floats], hosts: int, seed: int, deadline: Deadline
) -> tuple[Floats, int]:
    """Return the median cost of at most `RANDOM_ORDERS` random orders, and how many there were.

    Args:
        costs_of: costs (K, ...) of the first K of (M, H) orders, at least one of them.
        hosts: H.
        seed: decides which orders.
        deadline: when to stop; one order is priced in any case.
    """
    costs: list[Floats] = []
    rng = np.random.default_rng([seed, RANDOM_ORDERS])
    at_once = max(1, _RANDOM_BLOCK // hosts)
    # Which orders are drawn does not depend on the size of a block.
    for begin in range(0, RANDOM_ORDERS, at_once):
        count = min(at_once, RANDOM_ORDERS - begin)
        orders = np.array([rng.permutation(hosts) for _ in range(count)], dtype=np.int64)
        costs.append(costs_of(orders, deadline))
        if deadline.is_over:
            break
    every = np.sort(np.concatenate(costs), axis=0)
    # NumPy's own median imports all of its masked arrays.
    middle = every[(len(every) - 1) // 2 : len(every) // 2 + 1]
    return middle.mean(axis=0), len(every)
