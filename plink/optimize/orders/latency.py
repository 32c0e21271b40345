"""Search for orders with the least sum of latencies on an algorithm's critical path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.formats.matrices import Matrix
from plink.formats.order import Proof
from plink.model.distance import DistanceLimits
from plink.model.gaps import Range, drop_bounds, latency_range_us, measured_latency_us
from plink.solvers.collectives.cost import Prices
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import least_cost, search_by_latency
from plink.solvers.search import LEAST_S, TOLERANCE, SearchOptions, Solution
from plink.solvers.slots.layout import (
    RankLayout,
    cost_with_slots,
    idle_form,
    prices_with_slots,
)

with lazy_imports():
    from plink.solvers.exact import prove as exact

if TYPE_CHECKING:
    from plink.solvers.exact.prove import Engine, ProofResult

# The share of the time for the proof of a bound.
_PROOF_SHARE = 0.2


@dataclass(frozen=True)
class LatencyObjective:
    """Search objective: the sum of latencies that an algorithm waits for (Luo 2020, §5.2.1).

    Args:
        form: what is summed.
        matrix_us: (N, N) symmetric distances of hosts in µs; 0 between ranks of one host.
        layout: how the form's ranks lie on the hosts.
        threads: searches at the same time.
        limits: between what the distances lie; None where every pair was measured.
    """

    form: Form
    matrix_us: Matrix
    layout: RankLayout
    threads: int = 1
    name: str = "latency"
    size_bytes: int | None = None
    limits: DistanceLimits | None = None

    @cached_property
    def _prices(self) -> Prices:
        return prices_with_slots(self.form, self.matrix_us, self.layout)

    def cost_us(self, order: Sequence[int]) -> float:
        """Return the latency cost of an order in µs."""
        return cost_with_slots(self.form, self.matrix_us, self.layout, order)

    def costs_us(self, orders: npt.NDArray[np.int64], deadline: Deadline) -> Matrix:
        """Return the costs in µs of (M, H) orders, (K,): the first K <= M that time allows."""
        return self._prices.price_first(orders, deadline, least=1)

    def range_us(self, placement: npt.NDArray[np.intp]) -> Range | None:
        """Return a placement's least and greatest cost in µs; None if all pairs were measured."""
        if self.limits is None:
            return None
        return latency_range_us(self.form, self.limits, placement)

    def solve(self, given: Sequence[int], options: SearchOptions) -> Solution:
        """Search for the order with the least latency cost, in the objective's threads."""
        if self.limits is not None and options.steps is None:
            return self._solve_with_gaps(given, self.limits, options)
        time_limit_s = max(options.deadline.left_s, LEAST_S)
        # The search for a ring proves its bound itself.
        is_proven = isinstance(self.form, RingForm) or options.steps is not None
        proof_s = 0.0 if is_proven else _PROOF_SHARE * time_limit_s
        found = search_by_latency(
            self.form,
            self.matrix_us,
            given,
            layout=self.layout,
            seed=options.seed,
            time_limit_s=time_limit_s - proof_s,
            threads=self.threads,
            steps=options.steps,
            proof_limit_s=proof_s,
            on_progress=options.on_progress,
        )
        return found if self.limits is None else replace(found, lower_bound=0.0)

    @property
    def goes_by_steps(self) -> bool:
        """Whether the search can be limited by steps, and so be reproducible."""
        is_ring = isinstance(self.form, RingForm) and self.layout.is_even
        return is_ring or idle_form(self.form, self.layout) is not None

    def in_one_thread(self) -> LatencyObjective:
        """Return a copy of the objective whose search runs in a single thread."""
        return replace(self, threads=1)

    def bound_us(self, order: Sequence[int], time_limit_s: float) -> float:
        """Return a lower bound in µs on any order's cost; its search starts from `order`."""
        matrix_us = self.matrix_us if self.limits is None else self.limits.lowest_us
        return least_cost(self.form, matrix_us, self.layout, order, _PROOF_SHARE * time_limit_s)

    def _solve_with_gaps(
        self, given: Sequence[int], limits: DistanceLimits, options: SearchOptions
    ) -> Solution:
        """Search on distances with gaps filled; its lower bound holds whatever is in the gaps."""
        deadline, told = options.deadline, options.on_progress
        as_filled = replace(
            options,
            deadline=deadline.part(1.0 - _PROOF_SHARE),
            on_progress=None if told is None else drop_bounds(told),
        )
        found = replace(self, limits=None).solve(given, as_filled)
        if found.is_interrupted:
            return replace(found, lower_bound=0.0)
        proof_s = max(deadline.left_s, LEAST_S)
        bound_us = least_cost(self.form, limits.lowest_us, self.layout, found.order, proof_s)
        return replace(found, lower_bound=bound_us)

    def prove(self, found: Solution, time_limit_s: float, engine: Engine) -> tuple[Solution, Proof]:
        """Run an exact engine for a cheaper order, or a proof that there is none.

        Where pairs were not measured, half of the time goes into that, on distances as they were
        filled in, and half into a bound of the true ones, which alone proves something.

        Raises:
            WrongUseError: the engine is not installed, or hosts are chosen or differ in slots.
        """
        form = idle_form(self.form, self.layout)
        if form is None or not self.layout.takes_all_hosts:
            raise WrongUseError(
                "an exact engine can prove neither a choice of hosts nor orders of hosts with "
                "different numbers of slots",
                "{prove_s=} needs all hosts, with as many slots each, or a ring of any slots",
                arguments={"prove_s": time_limit_s},
            )
        limits = self.limits
        search_s = time_limit_s if limits is None else time_limit_s / 2.0
        try:
            verdict = exact.prove(form, self.matrix_us, found.order, search_s, engine)
            if limits is not None:
                below = exact.prove(form, limits.lowest_us, verdict.order, search_s, engine)
                verdict = self._combine_verdicts(limits, found, verdict, below)
        except exact.EngineMissingError as error:
            raise WrongUseError(
                str(error),
                f"pip install {error.package}, or leave out {{prove_s=}} to go without a proof",
                arguments={"prove_s": time_limit_s},
            ) from None
        better = replace(
            found,
            order=verdict.order,
            cost=verdict.cost,
            lower_bound=min(max(found.lower_bound, verdict.lower_bound), verdict.cost),
        )
        return better, Proof(engine, verdict.outcome, round(verdict.seconds, 3))

    def _combine_verdicts(
        self, limits: DistanceLimits, found: Solution, as_filled: ProofResult, below: ProofResult
    ) -> ProofResult:
        """Combine an exact engine's proofs on filled-in distances and on the least possible."""
        placement = self.layout.placement(as_filled.order)
        cost_us = measured_latency_us(self.form, limits, placement)
        proven_us = max(found.lower_bound, below.lower_bound)
        is_optimal = cost_us <= proven_us * (1.0 + TOLERANCE)
        is_better = list(as_filled.order) != list(found.order)
        return replace(
            as_filled,
            outcome="optimal" if is_optimal else "improved" if is_better else "gave-up",
            lower_bound=below.lower_bound,
            seconds=as_filled.seconds + below.seconds,
        )
