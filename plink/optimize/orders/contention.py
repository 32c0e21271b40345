"""Search for orders with the least predicted time of a collective whose flows share links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.formats.matrices import Matrix
from plink.model.distance import DistanceLimits
from plink.model.gaps import (
    Range,
    drop_bounds,
    time_bound_us,
    time_range_s,
    with_latency,
)
from plink.optimize.orders.latency import LatencyObjective
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.bound import unequal_bound_s
from plink.solvers.contention.contention_search import search_by_contention, sort_by_groups
from plink.solvers.contention.network import Network
from plink.solvers.contention.time import TableTimer
from plink.solvers.limits import Deadline
from plink.solvers.search import Search, SearchOptions, Solution, scale_progress
from plink.solvers.slots.anneal import TURNS, anneal_order, search_by_places
from plink.solvers.slots.layout import RankLayout

# The share of the time for the search by latency that gives this one a start.
_LATENCY_SHARE = 0.3

# The share of the rest, where hosts differ in slots, for searches in which places keep their ranks.
_PLACES_SHARE = 0.5

# The share of what then is left for a bound.
_PROOF_SHARE = 0.2

# All orders of so many hosts are tried where they differ in slots, in this share of the time.
_MOST_TRIED_HOSTS = 6
_TRIED_SHARE = 0.5
_LEAST_TRIED_S = 0.1

_US_PER_S = 1e6


@dataclass(frozen=True)
class ContentionObjective:
    """Search objective: the predicted time of a collective whose concurrent flows share links.

    Args:
        table: table of the algorithm, for `size_bytes`.
        network: what its links carry.
        layout: how the table's ranks lie on the hosts.
        by_latency: decides among orders that take the same time, and gives the search a start.
        size_bytes: size of the buffer, in bytes.
        limits: between what the hosts' distances lie; None where every pair was measured.
    """

    table: PeerTable
    network: Network
    layout: RankLayout
    by_latency: LatencyObjective
    size_bytes: int
    name: str = "contention"
    limits: DistanceLimits | None = None

    @cached_property
    def _clock(self) -> TableTimer:
        return TableTimer(self.table, self.network)

    @cached_property
    def _clock_of_positions(self) -> TableTimer | None:
        position_of = self._position_by_rank
        return None if position_of is None else TableTimer(self.table, self.network, position_of)

    def cost_us(self, order: Sequence[int]) -> float:
        """Return the predicted time of an order in µs."""
        clock = self._clock_of_positions
        if clock is None:
            return self.time_us(self.layout.placement(order))
        return clock.time_s(order[: clock.positions]) * _US_PER_S

    def costs_us(self, orders: npt.NDArray[np.int64], deadline: Deadline) -> Matrix:
        """Return the predicted µs of (M, H) orders, (K,): the first K <= M that time allows."""
        clock = self._clock_of_positions
        if clock is not None:
            return clock.times_s(orders[:, : clock.positions], deadline) * _US_PER_S
        costs: list[float] = []
        for order in orders:
            if costs and deadline.is_over:
                break
            costs.append(self.cost_us(order))
        return np.array(costs)

    def time_us(self, placement: npt.NDArray[np.intp]) -> float:
        """Return the predicted time in µs with rank r on host `placement[r]`."""
        return self._clock.time_s(placement) * _US_PER_S

    def range_us(self, placement: npt.NDArray[np.intp]) -> Range | None:
        """Return a placement's least and greatest time in µs; None if all pairs were measured."""
        if self.limits is None:
            return None
        low_s, high_s = time_range_s(self.table, self.network, self.limits, placement)
        return low_s * _US_PER_S, None if high_s is None else high_s * _US_PER_S

    def solve(self, given: Sequence[int], options: SearchOptions) -> Solution:
        """Search for the fastest order; among equals, the least sum of latencies."""
        deadline, on_progress = options.deadline, options.on_progress
        part = deadline.part(_LATENCY_SHARE)
        near = self.by_latency.solve(given, replace(options, deadline=part, on_progress=None))
        if near.is_interrupted:
            return self._build_interrupted([given, near.order], near.steps)
        starts = [list(given), list(near.order)]
        position_of, clock = self._position_by_rank, self._clock_of_positions
        if position_of is None or clock is None:
            return self._search_whole_orders(starts, options)
        limits = self.limits
        if limits is not None and on_progress is not None:
            on_progress = drop_bounds(on_progress)
        in_seconds = replace(options, on_progress=scale_progress(on_progress, _US_PER_S))
        found = search_by_contention(clock, starts, in_seconds, self.by_latency.matrix_us)
        bound_us = found.lower_bound * _US_PER_S
        if limits is not None:
            # Valid for any latencies of pairs that were not measured.
            bound_us = 0.0
            if not found.is_interrupted:
                bound_us = time_bound_us(self.table, self.network, limits, position_of, deadline)
        return replace(
            found,
            cost=self.cost_us(found.order),
            lower_bound=bound_us,
            steps=near.steps + found.steps,
        )

    @property
    def goes_by_steps(self) -> bool:
        """Whether the search can be limited by steps, and so be reproducible."""
        return self._position_by_rank is not None and self.by_latency.goes_by_steps

    def in_one_thread(self) -> ContentionObjective:
        """Return a copy of the objective whose search runs in a single thread."""
        return replace(self, by_latency=self.by_latency.in_one_thread())

    def _build_interrupted(self, orders: Sequence[Sequence[int]], steps: int) -> Solution:
        """Return the fastest of some orders as the result of a search ended by Ctrl-C."""
        order = min(orders, key=self.cost_us)
        cost_us = self.cost_us(order)
        return Solution(order, cost_us, 0.0, "interrupt", steps, "contention-annealing")

    def bound_us(self, order: Sequence[int], time_limit_s: float) -> float:  # noqa: ARG002
        """Return 0, no further bound: each search by time already proves its own."""
        return 0.0

    @cached_property
    def _position_by_rank(self) -> npt.NDArray[np.intp] | None:
        """Position in an order of each rank's host, (R,); None if it depends on the order.

        A ring's messages between hosts are the same however many ranks each has.
        """
        if self.layout.is_even:
            return self.layout.position_by_rank
        if isinstance(self.by_latency.form, RingForm) and self.layout.takes_all_hosts:
            return self.layout.host_by_slot[: self.layout.ranks]
        return None

    def _try_all(self, starts: Sequence[list[int]], options: SearchOptions) -> Solution | None:
        """Try orders of few hosts, all if time allows; None where there are many hosts."""
        if self.layout.hosts > _MOST_TRIED_HOSTS:
            return None
        deadline = options.deadline.part(_TRIED_SHARE).at_least(_LEAST_TRIED_S)
        search = Search(self.cost_us, starts[0], deadline, on_progress=options.on_progress)
        search.offer(starts[-1])
        return search.run(lambda: search.try_all(self.costs_us), "contention-annealing")

    def _search_whole_orders(self, starts: Sequence[list[int]], options: SearchOptions) -> Solution:
        """Search orders of hosts with unequal slots, predicting each candidate's time anew."""
        deadline = options.deadline
        tried = self._try_all(starts, options)
        if tried is not None:
            if tried.is_interrupted or (tried.ended_by == "exact" and self.limits is None):
                return tried
            starts = [*starts, list(tried.order)]
        places = deadline.part(_PLACES_SHARE)

        def search_places(place_of: npt.NDArray[np.intp], start: Sequence[int]) -> Sequence[int]:
            clock = TableTimer(self.table, self.network, place_of)
            turn = SearchOptions(places.part(1.0 / TURNS), options.seed)
            found = search_by_contention(clock, [start], turn, self.by_latency.matrix_us)
            if found.is_interrupted:
                raise KeyboardInterrupt
            return found.order

        begins = [*starts, *(sort_by_groups(start, self.network.group_of) for start in starts)]
        try:
            start = search_by_places(self.layout, begins, self.cost_us, search_places, places)
            # It holds for any placement on slots, and any latencies.
            network, slots = self.network, self.layout.slots
            if self.limits is not None:
                network = with_latency(network, self.limits.lowest_us)
            proof = deadline.part(_PROOF_SHARE)
            bound_us = unequal_bound_s(self.table, network, slots, proof) * _US_PER_S
        except KeyboardInterrupt:
            return self._build_interrupted(begins, 0)
        found = anneal_order(self.cost_us, start, self.layout.count_used, options)
        bound_us = min(found.cost, bound_us)
        return replace(found, lower_bound=bound_us, solver="contention-annealing")
