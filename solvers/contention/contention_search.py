"""Search for orders that minimise a collective's time under contention."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.bound import bound_loads_s
from plink.solvers.contention.network import Floats, Network
from plink.solvers.contention.stages import Ranks
from plink.solvers.contention.starts import in_sequence, ring_by_groups
from plink.solvers.contention.time import TableTimer, native_problem
from plink.solvers.distances import check_distances
from plink.solvers.limits.deadline import Deadline

EndedBy = Literal["exact", "bound", "chains", "steps", "time", "interrupt"]
Order = list[int]

# All 720 orders of so many hosts are tried.
_MOST_TRIED_HOSTS = 6

# One slice of native work: about how long an interrupt waits.
_SLICE_S = 0.05

# Swaps a host in the first chain of annealing; each further pair of chains has twice as many.
_STEPS_PER_HOST = 200
_MOST_STEPS = 1 << 40

# Heat, as shares of the mean change by a swap: where a chain from a random order begins, and one
# from the best.
_HOT, _WARM = 0.5, 0.05

# So many chains in a row that found nothing better end the search.
_IDLE_CHAINS = 8

_RELATIVE_TOLERANCE = 1e-9

# The most that a start for a ring may take, and the bound of what is then left.
_RING_SHARE, _BOUND_SHARE = 0.25, 0.2

# What the bound may take in any case, which mostly is enough.
_LEAST_BOUND_S = 0.1

# All orders of few hosts are tried in any case where so few messages make that a tenth of a second.
_FEW_MESSAGES = 2000
_NO_LIMIT_S = 1e8


@dataclass(frozen=True)
class ContentionSolution:
    """Order with its time, bound and search statistics.

    Args:
        order: a permutation of all hosts; rank or position p is on host `order[p]`, and hosts
            without one stand at the end.
        time_s: time of the collective (`plink.solvers.contention.time`).
        lower_bound_s: no order takes less.
        ended_by: `exact` (every order was tried), `bound` (the time meets the bound, and no
            distance can be saved), `chains` (so many in a row found nothing better), `steps` (as
            many as asked for), `time`, or `interrupt`.
        steps: swaps that were tried.
    """

    order: Order
    time_s: float
    lower_bound_s: float
    ended_by: EndedBy
    steps: int


@dataclass(frozen=True)
class ContentionProgress:
    """Progress of a search: elapsed seconds, least time so far, proven bound."""

    seconds: float
    time_s: float
    lower_bound_s: float


def search_by_contention(
    table: PeerTable,
    network: Network,
    start_orders: Sequence[Sequence[int]] = (),
    *,
    position_of: Ranks | None = None,
    seed: int = 0,
    time_limit_s: float = 2.0,
    tie_break_distance: npt.ArrayLike | None = None,
    clock: TableTimer | None = None,
    steps: int | None = None,
    on_progress: Callable[[ContentionProgress], None] | None = None,
) -> ContentionSolution:
    """Return the fastest order found within a time limit, never slower than any start.

    Annealing (Kirkpatrick, Gelatt, Vecchi 1983) by swaps of two ranks on a smooth maximum over the
    links, in turn from random orders and from the best so far; every chain ends with all swaps that
    help on the exact maximum. A ring gets a start that leaves each group once.

    Args:
        table: table of the ranks.
        network: the hosts and links; hosts beyond the positions are left out.
        start_orders: permutations of the hosts to begin with, such as one that is good by latency;
            0 ... N-1 if empty.
        position_of: (R,) the position of every rank; those of one share a host. None for one rank
            a host.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: an interrupt (Ctrl-C) ends the search earlier, with the best so far.
        tie_break_distance: (N, N) symmetric, zero diagonal: among orders that are equally quick,
            one whose flows' distances sum up to less is better. None for the latencies.
        clock: of these, if there is one.
        steps: no chain begins after so many swaps; None for as many as the time allows.
        on_progress: called some twenty times a second.

    Raises:
        ValueError: a table or an order that does not fit, or a seed or time limit out of range.
    """
    deadline = Deadline(time_limit_s)
    hosts = network.hosts
    positions = table.ranks if position_of is None else int(position_of.max()) + 1
    if positions > hosts:
        kind = "ranks" if position_of is None else "blocks of ranks"
        raise ValueError(f"{positions} {kind} on {hosts} hosts")
    starts = [[int(host) for host in order] for order in start_orders] or [list(range(hosts))]
    if any(sorted(order) != list(range(hosts)) for order in starts):
        raise ValueError(f"a start is not a permutation of 0 to {hosts - 1}")
    if not 0 <= seed < 1 << 63:
        raise ValueError(f"seed is {seed}, expected 0 to 2^63 - 1")
    if not time_limit_s > 0.0:
        raise ValueError(f"time_limit_s is {time_limit_s}, expected more than 0")
    distance = _distance(tie_break_distance, network)
    run = _ContentionSearch(
        clock or TableTimer(table, network, position_of),
        network,
        distance,
        positions,
        seed=seed,
        deadline=deadline,
        most_steps=steps,
        on_progress=on_progress,
    )
    return run.solution(starts)


def _distance(given: npt.ArrayLike | None, network: Network) -> Floats:
    if given is None:
        return np.maximum(network.latency_s, network.latency_s.T)
    distance = np.ascontiguousarray(given, dtype=np.float64)
    if distance.shape != network.latency_s.shape:
        raise ValueError(f"tie_break_distance is not (N, N) finite numbers, N = {network.hosts}")
    try:
        return check_distances(distance, network.hosts)
    except ValueError as error:
        raise ValueError(f"tie_break_distance: {error}") from None


class _ContentionSearch:
    """Search state: starting orders, then annealing chains."""

    def __init__(
        self,
        clock: TableTimer,
        network: Network,
        distance: Floats,
        positions: int,
        *,
        seed: int,
        deadline: Deadline,
        most_steps: int | None,
        on_progress: Callable[[ContentionProgress], None] | None,
    ) -> None:
        self._deadline = deadline
        self._limit_s = deadline.left_s
        self._network = network
        self._distance = distance
        self._positions = positions
        self._rng = np.random.default_rng(seed)
        self._on_progress = on_progress
        self._clock = clock
        self._bound_s = 0.0
        self._steps = 0
        self._most_steps = most_steps
        self._best: tuple[float, float, Order] = (np.inf, np.inf, [])

    def solution(self, starts: Sequence[Order]) -> ContentionSolution:
        """Search until proof, time, steps or interrupt; return the solution."""
        for order in starts:
            self._take(order)
        try:
            ended_by = self._climb(starts)
        except KeyboardInterrupt:
            ended_by = "interrupt"
        time_s, _, order = self._best
        return ContentionSolution(order, time_s, self._bound_s, ended_by, self._steps)

    def _climb(self, starts: Sequence[Order]) -> EndedBy:
        if self._network.hosts <= _MOST_TRIED_HOSTS:
            return self._try_all()
        for order in starts:
            self._take(in_sequence(order, self._network.group_of))
        ring = ring_by_groups(
            self._clock.waits,
            self._network,
            self._distance,
            int(self._rng.integers(1 << 63)),
            self._deadline.part(_RING_SHARE),
        )
        if ring is not None:
            self._take(ring)
        self._bound_s = self._proven_s()
        if self._deadline.is_over:
            return "time"
        problem = native_problem(
            self._clock.loads, self._clock.waits, self._network, self._positions, self._distance
        )
        self._chain(problem, self._best[2], steps=0, heat=0.0)
        if self._best[0] <= self._bound_s * (1.0 + _RELATIVE_TOLERANCE) and not self._best[1]:
            return "bound"
        steps = _STEPS_PER_HOST * self._network.hosts
        idle_chains = 0
        number = 0
        while idle_chains < _IDLE_CHAINS:
            if self._deadline.is_over:
                return "time"
            if self._most_steps is not None and self._steps >= self._most_steps:
                return "steps"
            is_warm = number % 2 == 1
            start = self._best[2] if is_warm else self._random_order()
            is_better = self._chain(problem, start, steps, _WARM if is_warm else _HOT)
            idle_chains = 0 if is_better else idle_chains + 1
            number += 1
            if number % 2 == 0:
                steps = min(2 * steps, _MOST_STEPS)
        return "chains"

    def _try_all(self) -> EndedBy:
        """Try all orders if there are few hosts."""
        until = Deadline(_NO_LIMIT_S) if self._is_small() else self._deadline
        for permutation in itertools.permutations(range(self._network.hosts)):
            self._take(list(permutation))
            if until.is_over:
                self._bound_s = self._proven_s()
                return "time"
        self._bound_s = self._best[0]
        return "exact"

    def _chain(
        self, problem: _native.ContentionProblem, start: Order, steps: int, heat: float
    ) -> bool:
        """Run one annealing chain; return whether it found a better order."""
        chain = _native.ContentionSearch(
            problem, start, int(self._rng.integers(1 << 63)), steps, heat
        )
        before = self._steps
        try:
            while not chain.is_done and not self._deadline.is_over:
                chain.run(min(_SLICE_S, self._deadline.left_s))
                self._steps = before + chain.steps
                self._tell()
        except KeyboardInterrupt:
            self._take(chain.order)
            raise
        return self._take(chain.order)

    def _random_order(self) -> Order:
        order: Order = self._rng.permutation(self._network.hosts).tolist()
        return order

    def _take(self, order: Order) -> bool:
        """Keep an order if it beats the best so far; return whether it does."""
        hosts = np.asarray(order)
        waits = self._clock.waits
        time_s = self._clock.time_s(hosts[: self._positions])
        passed = np.repeat(waits.counts, np.diff(waits.starts))
        tie = float(self._distance[hosts[waits.sources], hosts[waits.destinations]] @ passed)
        best_s, best_tie, _ = self._best
        is_quicker = time_s < best_s * (1.0 - _RELATIVE_TOLERANCE)
        is_nearer = time_s <= best_s and tie < best_tie * (1.0 - _RELATIVE_TOLERANCE)
        if is_quicker or is_nearer:
            self._best = (time_s, tie, list(order))
        return is_quicker or is_nearer

    def _is_small(self) -> bool:
        return len(self._clock.loads.sources) + len(self._clock.waits.sources) <= _FEW_MESSAGES

    def _proven_s(self) -> float:
        """Return a proven lower bound on the time of every order."""
        return bound_loads_s(
            self._clock.loads,
            self._clock.waits,
            self._positions,
            self._network,
            self._deadline.part(_BOUND_SHARE).at_least(_LEAST_BOUND_S),
        )

    def _tell(self) -> None:
        if self._on_progress is not None:
            seconds = self._limit_s - self._deadline.left_s
            self._on_progress(ContentionProgress(seconds, self._best[0], self._bound_s))
