"""Search for rank orders that minimise a collective's time when flows share links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.form import RingForm
from plink.solvers.contention.bound import lower_bound_s
from plink.solvers.contention.network import Floats, Network
from plink.solvers.contention.stages import Stages
from plink.solvers.contention.time import TableTimer, native_problem
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import search_by_latency
from plink.solvers.search import (
    LEAST_S,
    EndedBy,
    Search,
    SearchOptions,
    Solution,
    check_options,
)
from plink.solvers.slots.layout import RankLayout

Order = Sequence[int]

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

# The most that a start for a ring may take, and the bound of what is then left.
_RING_SHARE, _BOUND_SHARE = 0.25, 0.2

# What the bound may take in any case, which mostly is enough.
_LEAST_BOUND_S = 0.1

# All orders of few hosts are tried in any case where so few messages make that a tenth of a second.
_FEW_MESSAGES = 2000

# Other distances are made and looked at, in so long a time a pair of hosts.
_PREPARATION_S = 1e-8


def search_by_contention(
    clock: TableTimer,
    start_orders: Sequence[Order],
    options: SearchOptions,
    tie_distance: Floats | None = None,
) -> Solution:
    """Return the fastest order found within a time limit, never slower than the starts.

    Annealing (Kirkpatrick, Gelatt, Vecchi 1983) by swaps of two ranks on a smooth maximum over the
    links, in turn from random orders and from the best so far; every chain ends with all swaps that
    help on the exact maximum. A ring gets a start that leaves each group once.

    Args:
        clock: of the collective and the network, whose hosts beyond the positions are left out.
        start_orders: permutations of the hosts to begin with, such as one that is good by latency;
            at least one.
        options: no chain begins after `steps` swaps; one thread.
        tie_distance: (N, N) symmetric, zero diagonal: among orders that are equally quick, one
            whose flows' distances sum up to less is better. None for the latencies.

    Returns:
        a permutation of all hosts (rank or position p is on host `order[p]`, and hosts without one
        stand at the end), with costs in seconds (`plink.solvers.contention.time`).

    Raises:
        ValueError: more positions than hosts, an order that is none, or a seed out of range.
    """
    hosts = clock.network.hosts
    if clock.positions > hosts:
        raise ValueError(f"the ranks need {clock.positions} hosts, but the network has {hosts}")
    starts = [check_options(order, hosts, seed=options.seed) for order in start_orders]
    distance = tie_distance
    if distance is None:
        distance = np.maximum(clock.network.latency_s, clock.network.latency_s.T)
    waits = clock.waits
    passed = np.repeat(waits.counts, np.diff(waits.starts))

    def tie(order: Order) -> float:
        ends = np.asarray(order)
        return float(distance[ends[waits.sources], ends[waits.destinations]] @ passed)

    search = Search(
        lambda order: clock.time_s(order[: clock.positions]),
        starts[0],
        options.deadline,
        tie=tie,
        most_steps=options.steps,
        on_progress=options.on_progress,
    )
    climb = _Climb(search, clock, distance, np.random.default_rng(options.seed))
    return search.run(lambda: climb.run(starts), "contention-annealing")


@dataclass(frozen=True)
class _Climb:
    """Search for the order of least predicted time: starting orders, then annealing chains."""

    search: Search
    clock: TableTimer
    distance: Floats
    rng: np.random.Generator

    def run(self, starts: Sequence[Order]) -> EndedBy:
        """Search from the starting orders until a limit or the bound ends it; return which."""
        search, network = self.search, self.clock.network
        hosts = network.hosts
        for order in starts:
            search.offer(order)
        if hosts <= _MOST_TRIED_HOSTS:
            return self._try_all()
        for order in starts:
            search.offer(sort_by_groups(order, network.group_of))
        ring = ring_by_groups(
            self.clock.waits,
            network,
            self.distance,
            int(self.rng.integers(1 << 63)),
            search.deadline.part(_RING_SHARE),
        )
        if ring is not None:
            search.offer(ring)
        search.bound = self._prove_bound_s()
        if search.deadline.is_over:
            return "time"
        problem = native_problem(self.clock, self.distance)
        self._chain(problem, search.order, steps=0, heat=0.0)

        def chain(number: int) -> None:
            steps = min(_STEPS_PER_HOST * hosts << number // 2, _MOST_STEPS)
            if number % 2 == 1:
                self._chain(problem, search.order, steps, _WARM)
            else:
                self._chain(problem, self.rng.permutation(hosts).tolist(), steps, _HOT)

        return search.chains(chain, _IDLE_CHAINS, settled="chains")

    def _try_all(self) -> EndedBy:
        """Try every order of a few hosts; return what ended it: all tried (`exact`) or the time."""
        search = self.search
        messages = len(self.clock.loads.sources) + len(self.clock.waits.sources)
        deadline = search.deadline
        if messages <= _FEW_MESSAGES:
            search.deadline = Deadline()
        ended_by = search.try_all()
        search.deadline, search.steps = deadline, 0
        if ended_by == "time":
            search.bound = self._prove_bound_s()
        return ended_by

    def _chain(
        self, problem: _native.ContentionProblem, start: Order, steps: int, heat: float
    ) -> None:
        """Run one annealing chain from a starting order, and keep its order if it is faster."""
        search = self.search
        chain = _native.ContentionSearch(
            problem, list(start), int(self.rng.integers(1 << 63)), steps, heat
        )
        before = search.steps
        try:
            while not chain.is_done and not search.deadline.is_over:
                chain.run(min(_SLICE_S, search.deadline.left_s))
                search.steps = before + chain.steps
                search.tell()
        finally:
            search.offer(chain.order)

    def _prove_bound_s(self) -> float:
        """Return a proven lower bound on the time of every order."""
        deadline = self.search.deadline.part(_BOUND_SHARE).at_least(_LEAST_BOUND_S)
        return lower_bound_s(self.clock, deadline)


def sort_by_groups(order: Sequence[int], group_of: npt.NDArray[np.intp]) -> list[int]:
    """Return an order with each group's hosts adjacent, groups in order of first appearance.

    A host without a group stays by itself.
    """
    groups = group_of[np.asarray(order)]
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    keys = np.where(groups < 0, np.arange(len(order)), first[number])
    return [order[place] for place in np.argsort(keys, kind="stable")]


def ring_by_groups(
    waits: Stages, network: Network, distance: Floats, seed: int, deadline: Deadline
) -> list[int] | None:
    """Return a short ring with the fewest hops between groups; None if the collective is no ring.

    Returns:
        position p is on host `order[p]`, and the hosts that are left follow; None where the table
        is something else, or the time does not suffice to prepare the search.

    Raises:
        KeyboardInterrupt: the user ended that search.
    """
    if len(waits.counts) != 1 or not waits.goes_round[0]:
        return None
    if deadline.left_s < _PREPARATION_S * network.hosts**2:
        return None
    ring = len(waits.sources)
    # One more hop between groups outweighs any saving.
    penalty = max(1.0, float(distance.max())) * network.hosts
    crosses = network.group_of[:, None] != network.group_of
    found = search_by_latency(
        RingForm(ring),
        distance + penalty * crosses,
        layout=RankLayout([1] * network.hosts, ring),
        seed=seed,
        time_limit_s=max(deadline.left_s, LEAST_S),
    )
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    next_of = np.empty(ring, dtype=np.intp)
    next_of[waits.sources] = waits.destinations
    order = [0] * ring
    position = 0
    for host in found.order[:ring]:
        order[position] = host
        position = int(next_of[position])
    return [*order, *found.order[ring:]]
