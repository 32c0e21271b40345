"""What an order is chosen by: the sum of latencies, or the time under contention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from plink.distance import Matrix
from plink.errors import WrongUseError
from plink.files.order import Proof
from solvers.collectives.form import Form, RingForm
from solvers.collectives.table import PeerTable
from solvers.contention import search as contention_search
from solvers.contention.network import Network
from solvers.contention.search import search
from solvers.contention.time import Clock
from solvers.exact.prove import EngineMissingError, prove
from solvers.exact.verdict import Engine
from solvers.orders.reference import cost
from solvers.orders.search import solve
from solvers.orders.solution import Progress

OnProgress = Callable[[Progress], None]

# Of the time by latency, for the proof of a bound.
_PROOF_SHARE = 0.2

# Of the time under contention, for the latency search that gives it a start.
_LATENCY_SHARE = 0.3

_ENGINE: Engine = "cp-sat"

# The name of that search in an order file.
_CONTENTION = "contention-annealing"


@dataclass(frozen=True)
class Found:
    """An order, and how it was found (`plink.files.order`)."""

    order: Sequence[int]
    cost_us: float
    lower_bound_us: float
    solver: str
    steps: int
    ended_by: str


class Objective(Protocol):
    """A cost of orders, and the search for a cheap one."""

    @property
    def name(self) -> str:
        """`latency` or `contention`."""

    @property
    def size_bytes(self) -> int | None:
        """Of the buffer whose time it predicts."""

    def cost_us(self, order: Sequence[int]) -> float:
        """What an order costs."""

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
        matrix_us: (N, N) symmetric distances in µs.
        threads: searches at the same time.
    """

    form: Form
    matrix_us: Matrix
    threads: int = 1
    name: str = "latency"
    size_bytes: int | None = None

    def cost_us(self, order: Sequence[int]) -> float:
        """The cost of an order."""
        return cost(self.form, self.matrix_us, order)

    def solve(
        self,
        given: Sequence[int],
        *,
        seed: int,
        time_limit_s: float,
        on_progress: OnProgress | None = None,
    ) -> Found:
        """The cheapest order found."""
        # The search for a ring proves its bound itself.
        proof_s = 0.0 if isinstance(self.form, RingForm) else _PROOF_SHARE * time_limit_s
        found = solve(
            self.form,
            self.matrix_us,
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

    def _solver(self, ended_by: str) -> str:
        if not isinstance(self.form, RingForm):
            return "annealing"
        return "dynamic-programming" if ended_by == "exact" else "lin-kernighan"

    def prove(self, found: Found, time_limit_s: float) -> tuple[Found, Proof]:
        """Let an exact engine look for something strictly cheaper.

        Raises:
            WrongUseError: the engine is not installed.
        """
        try:
            verdict = prove(self.form, self.matrix_us, found.order, time_limit_s, _ENGINE)
        except EngineMissingError as error:
            raise WrongUseError(str(error), "leave out --prove to go without a proof") from None
        better = replace(
            found,
            order=verdict.order,
            cost_us=verdict.cost,
            lower_bound_us=min(max(found.lower_bound_us, verdict.lower_bound), verdict.cost),
        )
        return better, Proof(_ENGINE, verdict.outcome, round(verdict.seconds, 3))


@dataclass(frozen=True)
class ContentionObjective:
    """The time of a table where flows that are under way together share links.

    Args:
        table: of the algorithm, for `size_bytes`.
        network: what its links carry.
        by_latency: decides among orders that take the same time, and gives the search a start.
        size_bytes: of the buffer.
    """

    table: PeerTable
    network: Network
    by_latency: LatencyObjective
    size_bytes: int
    name: str = "contention"

    @cached_property
    def _clock(self) -> Clock:
        return Clock(self.table, self.network)

    def cost_us(self, order: Sequence[int]) -> float:
        """The time in µs."""
        return self._clock.time_s(order) * 1e6

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
        found = search(
            self.table,
            self.network,
            [given, near.order],
            seed=seed,
            time_limit_s=(1.0 - _LATENCY_SHARE) * time_limit_s,
            tie_break_distance=self.by_latency.matrix_us,
            on_progress=None if on_progress is None else _in_us(on_progress),
        )
        return Found(
            found.order,
            self.cost_us(found.order),
            found.lower_bound_s * 1e6,
            _CONTENTION,
            found.steps,
            found.ended_by,
        )


def _in_us(on_progress: OnProgress) -> Callable[[contention_search.Progress], None]:
    """Tell of a search in seconds as of one in µs."""

    def tell(progress: contention_search.Progress) -> None:
        on_progress(Progress(progress.seconds, progress.time_s * 1e6, progress.lower_bound_s * 1e6))

    return tell
