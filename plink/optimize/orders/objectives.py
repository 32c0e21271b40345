"""What an order is chosen by: the sum of latencies, or the time under contention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.files.order import Proof
from plink.model.distance import Limits, Matrix
from plink.model.gaps import (
    Range,
    latency_range_us,
    measured_latency_us,
    time_bound_us,
    time_range_s,
    without_bound,
)
from solvers.collectives.form import Form, RingForm
from solvers.collectives.table import PeerTable
from solvers.contention.contention_search import (
    ContentionProgress,
    ContentionSolution,
    search_by_contention,
)
from solvers.contention.network import Network
from solvers.contention.starts import in_sequence
from solvers.contention.time import Clock
from solvers.exact.prove import Engine, EngineMissingError, Verdict, prove
from solvers.orders.solution import Progress
from solvers.slots.anneal import anneal_order
from solvers.slots.layout import RankLayout
from solvers.slots.slot_search import cost_with_slots, least_cost, over_hosts, search_with_slots
from solvers.slots.uneven import TURNS, by_places

OnProgress = Callable[[Progress], None]

# Of the time by latency, for the proof of a bound.
_PROOF_SHARE = 0.2

# Of the time under contention, for the latency search that gives it a start.
_LATENCY_SHARE = 0.3

# Of that time, where hosts differ in slots, for searches that take places to keep their ranks.
_PLACES_SHARE = 0.5

# The name of that search in an order file.
_CONTENTION = "contention-annealing"

# Of two costs, by which they are equal for every purpose.
_RELATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Found:
    """An order, and how it was found (`plink.files.order`).

    Args:
        order: a permutation of all hosts, which ranks fill from the front.
    """

    order: Sequence[int]
    cost_us: float
    lower_bound_us: float
    solver: str
    steps: int
    ended_by: str


class Objective(Protocol):
    """A cost of orders of all hosts, which ranks fill from the front, and a search by it."""

    @property
    def name(self) -> str:
        """`latency` or `contention`."""

    @property
    def size_bytes(self) -> int | None:
        """Of the buffer whose time it predicts."""

    @property
    def filling(self) -> RankLayout:
        """How the algorithm's ranks fill the hosts."""

    def cost_us(self, order: Sequence[int]) -> float:
        """What an order costs."""

    def range_us(self, placement: npt.NDArray[np.intp]) -> Range | None:
        """From what to what it costs with rank r of the filling on host `placement[r]`.

        None where every pair was measured, so that the cost is no range.
        """

    def solve(
        self,
        given: Sequence[int],
        *,
        seed: int,
        time_limit_s: float,
        on_progress: OnProgress | None = None,
    ) -> Found:
        """An order no dearer than the given one."""


@dataclass(frozen=True)
class LatencyObjective:
    """The sum of latencies that an algorithm waits for (Luo 2020, §5.2.1).

    Args:
        form: what is summed.
        matrix_us: (N, N) symmetric distances of hosts in µs; ranks of a host are none apart.
        filling: how the form's ranks fill the hosts.
        threads: searches at the same time.
        limits: between what the distances lie; None where every pair was measured.
    """

    form: Form
    matrix_us: Matrix
    filling: RankLayout
    threads: int = 1
    name: str = "latency"
    size_bytes: int | None = None
    limits: Limits | None = None

    def cost_us(self, order: Sequence[int]) -> float:
        """The cost of an order."""
        return cost_with_slots(self.form, self.matrix_us, self.filling, order)

    def range_us(self, placement: npt.NDArray[np.intp]) -> Range | None:
        """From what to what a placement costs."""
        if self.limits is None:
            return None
        return latency_range_us(self.form, self.limits, placement)

    def solve(
        self,
        given: Sequence[int],
        *,
        seed: int,
        time_limit_s: float,
        on_progress: OnProgress | None = None,
    ) -> Found:
        """The cheapest order found."""
        if self.limits is not None:
            return self._solve_with_gaps(given, self.limits, seed, time_limit_s, on_progress)
        # The search for a ring proves its bound itself.
        proof_s = 0.0 if isinstance(self.form, RingForm) else _PROOF_SHARE * time_limit_s
        found = search_with_slots(
            self.form,
            self.matrix_us,
            self.filling,
            given,
            seed=seed,
            time_limit_s=time_limit_s - proof_s,
            threads=self.threads,
            proof_limit_s=proof_s,
            on_progress=on_progress,
        )
        return Found(
            found.order,
            found.cost,
            found.lower_bound,
            self._solver(found.ended_by),
            found.steps,
            found.ended_by,
        )

    def _solve_with_gaps(
        self,
        given: Sequence[int],
        limits: Limits,
        seed: int,
        time_limit_s: float,
        on_progress: OnProgress | None,
    ) -> Found:
        """The cheapest order on distances as they were filled in, with a bound of the true ones."""
        proof_s = _PROOF_SHARE * time_limit_s
        as_filled = replace(self, limits=None)
        found = as_filled.solve(
            given,
            seed=seed,
            time_limit_s=time_limit_s - proof_s,
            on_progress=None if on_progress is None else without_bound(on_progress),
        )
        if found.ended_by == "interrupt":
            return replace(found, lower_bound_us=0.0)
        bound_us = least_cost(self.form, limits.lowest_us, self.filling, found.order, proof_s)
        return replace(found, lower_bound_us=bound_us)

    def _solver(self, ended_by: str) -> str:
        if not isinstance(self.form, RingForm) or not (
            self.filling.is_even or self.filling.takes_all_hosts
        ):
            return "annealing"
        return "dynamic-programming" if ended_by == "exact" else "lin-kernighan"

    def prove(self, found: Found, time_limit_s: float, engine: Engine) -> tuple[Found, Proof]:
        """Let an exact engine look for something strictly cheaper.

        Where pairs were not measured, half of the time goes into that, on distances as they were
        filled in, and half into a bound of the true ones, which alone proves something.

        Raises:
            WrongUseError: the engine is not installed, or hosts are chosen or differ in slots.
        """
        form = over_hosts(self.form, self.filling)
        if form is None or not self.filling.takes_all_hosts:
            raise WrongUseError(
                "no exact engine proves a choice of hosts, nor the order of hosts with different "
                "numbers of slots",
                "--prove takes all hosts, with as many slots each; a ring of any slots",
            )
        limits = self.limits
        search_s = time_limit_s if limits is None else time_limit_s / 2.0
        try:
            verdict = prove(form, self.matrix_us, found.order, search_s, engine)
            if limits is not None:
                below = prove(form, limits.lowest_us, verdict.order, search_s, engine)
                verdict = self._told_of_gaps(limits, found, verdict, below)
        except EngineMissingError as error:
            raise WrongUseError(str(error), "leave out --prove to go without a proof") from None
        better = replace(
            found,
            order=verdict.order,
            cost_us=verdict.cost,
            lower_bound_us=min(max(found.lower_bound_us, verdict.lower_bound), verdict.cost),
        )
        return better, Proof(engine, verdict.outcome, round(verdict.seconds, 3))

    def _told_of_gaps(
        self, limits: Limits, found: Found, as_filled: Verdict, below: Verdict
    ) -> Verdict:
        """What an engine's two verdicts, on distances as filled and at their lowest, prove."""
        placement = self.filling.placement(as_filled.order)
        cost_us = measured_latency_us(self.form, limits, placement)
        proven_us = max(found.lower_bound_us, below.lower_bound)
        is_optimal = cost_us <= proven_us * (1.0 + _RELATIVE_TOLERANCE)
        is_better = list(as_filled.order) != list(found.order)
        return replace(
            as_filled,
            outcome="optimal" if is_optimal else "improved" if is_better else "gave-up",
            lower_bound=below.lower_bound,
            seconds=as_filled.seconds + below.seconds,
        )


@dataclass(frozen=True)
class ContentionObjective:
    """The time of a table where flows that are under way together share links.

    Args:
        table: of the algorithm, for `size_bytes`.
        network: what its links carry.
        filling: how the table's ranks fill the hosts.
        by_latency: decides among orders that take the same time, and gives the search a start.
        size_bytes: of the buffer.
        limits: between what the hosts' distances lie; None where every pair was measured.
    """

    table: PeerTable
    network: Network
    filling: RankLayout
    by_latency: LatencyObjective
    size_bytes: int
    name: str = "contention"
    limits: Limits | None = None

    @cached_property
    def _clock(self) -> Clock:
        return Clock(self.table, self.network)

    def cost_us(self, order: Sequence[int]) -> float:
        """The time in µs."""
        return self.time_us(self.filling.placement(order))

    def time_us(self, placement: npt.NDArray[np.intp]) -> float:
        """The time in µs with rank r on host `placement[r]`."""
        return self._clock.time_s(placement) * 1e6

    def range_us(self, placement: npt.NDArray[np.intp]) -> Range | None:
        """From what to what the time of a placement is, as far as latencies decide it."""
        if self.limits is None:
            return None
        low_s, high_s = time_range_s(self.table, self.network, self.limits, placement)
        return low_s * 1e6, None if high_s is None else high_s * 1e6

    def solve(
        self,
        given: Sequence[int],
        *,
        seed: int,
        time_limit_s: float,
        on_progress: OnProgress | None = None,
    ) -> Found:
        """The quickest order found, among several the one whose latencies sum up to least."""
        near_s = _LATENCY_SHARE * time_limit_s
        near = self.by_latency.solve(given, seed=seed, time_limit_s=near_s)
        if near.ended_by == "interrupt":
            order = min(given, near.order, key=self.cost_us)
            return Found(order, self.cost_us(order), 0.0, _CONTENTION, near.steps, near.ended_by)
        left_s = (1.0 - _LATENCY_SHARE) * time_limit_s
        starts = [list(given), list(near.order)]
        position_of = self._position_of()
        if position_of is None:
            return self._by_whole_orders(starts, seed, left_s, on_progress)
        found = search_by_contention(
            self.table,
            self.network,
            starts,
            position_of=position_of,
            seed=seed,
            time_limit_s=left_s,
            tie_break_distance=self.by_latency.matrix_us,
            on_progress=None if on_progress is None else _in_us(self._telling(on_progress)),
        )
        return Found(
            found.order,
            self.cost_us(found.order),
            self._bound_us(found, position_of),
            _CONTENTION,
            found.steps,
            found.ended_by,
        )

    def _bound_us(self, found: ContentionSolution, position_of: npt.NDArray[np.intp]) -> float:
        """What the search proved; where pairs were not measured, what holds without them."""
        if self.limits is None:
            return found.lower_bound_s * 1e6
        if found.ended_by == "interrupt":
            return 0.0
        return time_bound_us(self.table, self.network, self.limits, position_of)

    def _telling(self, on_progress: OnProgress) -> OnProgress:
        return on_progress if self.limits is None else without_bound(on_progress)

    def _position_of(self) -> npt.NDArray[np.intp] | None:
        """(R,) the place in an order of each rank's host, where that does not depend on the order.

        A ring's messages between hosts are the same however many ranks each has.
        """
        if self.filling.is_even:
            return self.filling.position_of
        if isinstance(self.by_latency.form, RingForm) and self.filling.takes_all_hosts:
            return np.repeat(np.arange(self.filling.hosts), self.filling.slots)[
                : self.filling.ranks
            ]
        return None

    def _by_whole_orders(
        self,
        starts: Sequence[list[int]],
        seed: int,
        time_limit_s: float,
        on_progress: OnProgress | None,
    ) -> Found:
        """Annealing in which every order's time is predicted anew; no bound is known."""

        def search_places(place_of: npt.NDArray[np.intp], start: list[int]) -> Sequence[int]:
            found = search_by_contention(
                self.table,
                self.network,
                [start],
                position_of=place_of,
                seed=seed,
                time_limit_s=_PLACES_SHARE * time_limit_s / TURNS,
                tie_break_distance=self.by_latency.matrix_us,
            )
            if found.ended_by == "interrupt":
                raise KeyboardInterrupt
            return found.order

        begins = [*starts, *(in_sequence(start, self.network.group_of) for start in starts)]
        try:
            start = by_places(self.filling, begins, self.cost_us, search_places)
        except KeyboardInterrupt:
            order = min(begins, key=self.cost_us)
            return Found(order, self.cost_us(order), 0.0, _CONTENTION, 0, "interrupt")
        order, steps, ended_by = anneal_order(
            self.cost_us,
            start,
            self.filling.used,
            seed=seed,
            time_limit_s=(1.0 - _PLACES_SHARE) * time_limit_s,
            on_progress=on_progress,
        )
        return Found(order, self.cost_us(order), 0.0, _CONTENTION, steps, ended_by)


def _in_us(on_progress: OnProgress) -> Callable[[ContentionProgress], None]:
    """Tell of a search in seconds as of one in µs."""

    def tell(progress: ContentionProgress) -> None:
        on_progress(Progress(progress.seconds, progress.time_s * 1e6, progress.lower_bound_s * 1e6))

    return tell
