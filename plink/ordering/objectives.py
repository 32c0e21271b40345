"""What an order is chosen by: the sum of latencies, or the time under contention."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from plink.distance import Matrix
from plink.errors import WrongUseError
from plink.files.order import Proof
from solvers import contention, exact, orders
from solvers.collectives.form import Form, RingForm
from solvers.collectives.table import PeerTable
from solvers.contention.network import Network
from solvers.orders.reference import cost
from solvers.orders.solution import Progress

OnProgress = Callable[[Progress], None]

# Of the time under contention, for the latency search that gives it a start.
_LATENCY_SHARE = 0.3


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

    def prove(self, found: Found, time_limit_s: float) -> tuple[Found, Proof]:
        """Let an exact engine look for something strictly cheaper."""
