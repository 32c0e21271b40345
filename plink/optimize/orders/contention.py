"""Orders by contention: the time of a collective whose concurrent flows share links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.files.matrices import Matrix
from plink.model.distance import DistanceLimits
from plink.model.gaps import Range, without_bound
from plink.model.time_gaps import time_bound_us, time_range_s, with_latency
from plink.optimize.orders.latency import FOREVER_S, FoundOrder, LatencyObjective
from plink.optimize.orders.request import OnProgress
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.contention_search import (
    ContentionProgress,
    ContentionSolution,
    search_by_contention,
)
from plink.solvers.contention.network import Network
from plink.solvers.contention.starts import in_sequence
from plink.solvers.contention.time import TableTimer
from plink.solvers.contention.unequal_bound import unequal_bound_s
from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.slots.anneal import anneal_order
from plink.solvers.slots.layout import RankLayout
from plink.solvers.slots.uneven import TURNS, by_places

# The share of the time for the search by latency that gives this one a start.
_LATENCY_SHARE = 0.3

# The share of the rest, where hosts differ in slots, for searches in which places keep their ranks.
_PLACES_SHARE = 0.5

# The share of what then is left for a bound.
_PROOF_SHARE = 0.2

# A search has some time at least, in which it looks at its starts.
_LEAST_S = 1e-3

# The name of that search in an order file.
_SEARCH = "contention-annealing"


@dataclass(frozen=True)
class ContentionObjective:
    """Objective that predicts the time of a collective whose flows share links.

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
        position_of = self._position_of
        return None if position_of is None else TableTimer(self.table, self.network, position_of)

    def cost_us(self, order: Sequence[int]) -> float:
        """Return the predicted time of an order in µs."""
        clock = self._clock_of_positions
        if clock is None:
            return self.time_us(self.layout.placement(order))
        return clock.time_s(order[: clock.ranks]) * 1e6

    def costs_us(self, orders: npt.NDArray[np.int64], deadline: Deadline) -> Matrix:
        """Return times of the first K of (M, H) orders, as many as the limit allows."""
        clock = self._clock_of_positions
        if clock is not None:
            return clock.times_s(orders[:, : clock.ranks], deadline) * 1e6
        costs: list[float] = []
        for order in orders:
            if costs and deadline.is_over:
                break
            costs.append(self.cost_us(order))
        return np.array(costs)

    def time_us(self, placement: npt.NDArray[np.intp]) -> float:
        """Return the time in µs with rank r on host `placement[r]`."""
        return self._clock.time_s(placement) * 1e6

    def range_us(self, placement: npt.NDArray[np.intp]) -> Range | None:
        """Return the range of a placement's time over unmeasured latencies."""
        if self.limits is None:
            return None
        low_s, high_s = time_range_s(self.table, self.network, self.limits, placement)
        return low_s * 1e6, None if high_s is None else high_s * 1e6

    def solve(
        self,
        given: Sequence[int],
        *,
        seed: int,
        deadline: Deadline,
        on_progress: OnProgress | None = None,
    ) -> FoundOrder:
        """Return the fastest order found; among equals, the least sum of latencies."""
        near = self.by_latency.solve(given, seed=seed, deadline=deadline.part(_LATENCY_SHARE))
        if near.ended_by == "interrupt":
            order = min(given, near.order, key=self.cost_us)
            return FoundOrder(order, self.cost_us(order), 0.0, _SEARCH, near.steps, near.ended_by)
        starts = [list(given), list(near.order)]
        position_of = self._position_of
        if position_of is None:
            return self._by_whole_orders(starts, seed, deadline, on_progress)
        found = search_by_contention(
            self.table,
            self.network,
            starts,
            position_of=position_of,
            seed=seed,
            time_limit_s=max(deadline.left_s, _LEAST_S),
            tie_break_distance=self.by_latency.matrix_us,
            clock=self._clock_of_positions,
            on_progress=None if on_progress is None else _in_us(self._telling(on_progress)),
        )
        return FoundOrder(
            found.order,
            self.cost_us(found.order),
            self._bound_us(found, position_of, deadline),
            _SEARCH,
            found.steps,
            found.ended_by,
        )

    @property
    def goes_by_steps(self) -> bool:
        """Whether the search can be limited by steps, and so be reproducible."""
        return self._position_of is not None and self.by_latency.goes_by_steps

    def in_one_thread(self) -> ContentionObjective:
        """Return the objective with a single-threaded search."""
        return replace(self, by_latency=self.by_latency.in_one_thread())

    def restart(self, given: Sequence[int], *, seed: int, steps: int) -> FoundOrder:
        """Return the fastest order found within a number of steps."""
        near = self.by_latency.restart(given, seed=seed, steps=steps)
        position_of = self._position_of
        found = search_by_contention(
            self.table,
            self.network,
            [list(given), list(near.order)],
            position_of=position_of,
            seed=seed,
            time_limit_s=FOREVER_S,
            tie_break_distance=self.by_latency.matrix_us,
            steps=steps,
        )
        if found.ended_by == "interrupt" or position_of is None:
            raise KeyboardInterrupt
        return FoundOrder(
            found.order,
            self.cost_us(found.order),
            self._bound_us(found, position_of, Deadline(FOREVER_S)),
            _SEARCH,
            near.steps + found.steps,
            found.ended_by,
        )

    def bound_us(self, order: Sequence[int], time_limit_s: float) -> float:  # noqa: ARG002
        """Return 0: each search proves its own bound already."""
        return 0.0

    def _bound_us(
        self, found: ContentionSolution, position_of: npt.NDArray[np.intp], deadline: Deadline
    ) -> float:
        """Return the proven bound in µs, valid for any values of unmeasured pairs."""
        if self.limits is None:
            return found.lower_bound_s * 1e6
        if found.ended_by == "interrupt":
            return 0.0
        return time_bound_us(self.table, self.network, self.limits, position_of, deadline)

    def _telling(self, on_progress: OnProgress) -> OnProgress:
        return on_progress if self.limits is None else without_bound(on_progress)

    @cached_property
    def _position_of(self) -> npt.NDArray[np.intp] | None:
        """Position of each rank's host in the order, (R,), if the same in all orders.

        A ring's messages between hosts are the same however many ranks each has.
        """
        if self.layout.is_even:
            return self.layout.position_of
        if isinstance(self.by_latency.form, RingForm) and self.layout.takes_all_hosts:
            return np.repeat(np.arange(self.layout.hosts), self.layout.slots)[: self.layout.ranks]
        return None

    def _by_whole_orders(
        self,
        starts: Sequence[list[int]],
        seed: int,
        deadline: Deadline,
        on_progress: OnProgress | None,
    ) -> FoundOrder:
        """Anneal orders, predicting the time of each candidate from scratch."""

        places = deadline.part(_PLACES_SHARE)

        def search_places(place_of: npt.NDArray[np.intp], start: list[int]) -> Sequence[int]:
            found = search_by_contention(
                self.table,
                self.network,
                [start],
                position_of=place_of,
                seed=seed,
                time_limit_s=max(places.left_s / TURNS, _LEAST_S),
                tie_break_distance=self.by_latency.matrix_us,
            )
            if found.ended_by == "interrupt":
                raise KeyboardInterrupt
            return found.order

        begins = [*starts, *(in_sequence(start, self.network.group_of) for start in starts)]
        try:
            start = by_places(self.layout, begins, self.cost_us, search_places, places)
            bound_us = self._bound_of_any_slots_us(deadline.part(_PROOF_SHARE))
        except KeyboardInterrupt:
            order = min(begins, key=self.cost_us)
            return FoundOrder(order, self.cost_us(order), 0.0, _SEARCH, 0, "interrupt")
        order, steps, ended_by = anneal_order(
            self.cost_us,
            start,
            self.layout.count_used,
            seed=seed,
            deadline=deadline,
            on_progress=on_progress,
        )
        cost_us = self.cost_us(order)
        return FoundOrder(order, cost_us, min(cost_us, bound_us), _SEARCH, steps, ended_by)

    def _bound_of_any_slots_us(self, deadline: Deadline) -> float:
        """Return a bound that holds for any slots and any unmeasured distances."""
        network = self.network
        if self.limits is not None:
            network = with_latency(network, self.limits.lowest_us)
        return unequal_bound_s(self.table, network, self.layout.slots, deadline) * 1e6


def _in_us(on_progress: OnProgress) -> Callable[[ContentionProgress], None]:
    """Return a progress callback that converts costs from seconds to µs."""

    def tell(progress: ContentionProgress) -> None:
        on_progress(
            SearchProgress(progress.seconds, progress.time_s * 1e6, progress.lower_bound_s * 1e6)
        )

    return tell
