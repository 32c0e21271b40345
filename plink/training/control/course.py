"""Whether a graph decides on a rank, and how far the rank has come in its order."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from plink.training.control.actions import Batch
from plink.training.control.graph import Order
from plink.training.control.graph_messages import MOST_MISSING, Go, Report
from plink.training.control.halts import progress_of
from plink.training.control.slots import Slots
from plink.training.control.waits import Waits
from plink.training.control.wire import WireError


class Phase(enum.Enum):
    """Source of the decisions on what begins next."""

    # A machine of `tree`.
    TALKING = enum.auto()
    # And this rank waits to hear whether all have learnt the same.
    OFFERING = enum.auto()
    # The graph.
    FOLLOWING = enum.auto()
    # Nobody: all are asked how far they are.
    HALTED = enum.auto()
    # The graph, up to where all leave it.
    LEAVING = enum.auto()


class Course:
    """Progress of one rank along an order.

    Args:
        waits: what it has announced, and since when.
    """

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        # Announced, and without a slot.
        self._unfit: dict[str, None] = {}
        self._leaves_at = 0
        # Of the graph that was followed last; of none before.
        self.slots = Slots(Order((), ()))
        self.phase = Phase.TALKING
        # Why the graph does not hold; empty where it does.
        self.reason = ""

    @property
    def has_graph(self) -> bool:
        """Whether what is announced is for a graph."""
        return self.phase not in (Phase.TALKING, Phase.OFFERING)

    @property
    def is_over(self) -> bool:
        """Whether all has begun that is to begin before the graph is left."""
        return self.phase is Phase.LEAVING and self.slots.begun == self._leaves_at

    @property
    def since_s(self) -> float:
        """Return since when the oldest request waits because of a graph; infinity for never."""
        return self._waits.since_s(has_graph=self.has_graph)

    def follow(self, order: Order) -> None:
        """Follow this order from now on, also for what is announced already."""
        self.slots = Slots(order)
        self.reason = ""
        self.phase = Phase.FOLLOWING
        self._unfit = {}
        self.add(request.name for request, _ in self._waits.pending)

    def add(self, names: Iterable[str]) -> None:
        """Record names that are announced."""
        self._unfit.update(dict.fromkeys(names))

    def begun(self) -> tuple[list[Batch], str]:
        """Return the batches that can begin, and why a request has no slot, or an empty text."""
        problem = ""
        if self.phase is Phase.HALTED or not self.has_graph:
            return [], problem
        is_following = self.phase is Phase.FOLLOWING
        for name in list(self._unfit):
            if found := self.slots.fill(self._waits.request(name)):
                problem = problem or found
            else:
                del self._unfit[name]
        batches: list[Batch] = []
        while self.slots.has_full and (is_following or self.slots.begun < self._leaves_at):
            batches.append(Batch(self.slots.take()))
        return batches, problem if is_following else ""

    def report(self, graph: int, rank: int, now_s: float) -> Report:
        """Return this rank's answer when the root asks all; until the decision nothing begins."""
        if self.phase is Phase.FOLLOWING:
            self.phase = Phase.HALTED
        waited_s = now_s - self.since_s
        missing = self.slots.missing(MOST_MISSING) if self.has_graph else ()
        return Report(
            graph,
            0,
            round(1000.0 * waited_s) if waited_s > 0.0 else 0,
            self.has_graph and bool(self._waits.pending),
            self.reason,
            progress_of(self.slots.begun, missing, rank),
        )

    def go(self, go: Go) -> bool:
        """The root has decided. Returns whether this rank is to leave the graph, and did not know.

        Raises:
            WireError: something has begun already that is not to begin.
        """
        if self.phase is not Phase.HALTED:
            return False
        if go.begun < self.slots.begun:
            raise WireError("it takes back what has begun")
        self.phase = Phase.LEAVING if go.leaves else Phase.FOLLOWING
        self._leaves_at = go.begun
        return go.leaves

    def leave(self) -> None:
        """A machine of `tree` decides."""
        self.phase = Phase.TALKING
        self._unfit = {}
