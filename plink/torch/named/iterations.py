"""Iterations of a rank's program, and the graph learnt in each; for the mode `graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor
from torch.nn import Parameter

from plink.torch.named.learning import Learner
from plink.training.control.events import Awaited, Event, IterationEnded
from plink.training.control.graphed import Graphed
from plink.training.control.requests import Request


class Iterations:
    """Recorder of iterations whose order is offered to other ranks.

    Args:
        machine: of this rank.
        tell: tells it what happens.
    """

    def __init__(self, machine: Graphed, tell: Callable[[Event], None]) -> None:
        self._machine = machine
        self._tell = tell
        self._learner = Learner(machine.fusion_bytes)
        self._ended = 0
        self._records = True

    def learn(self, root: Tensor, sources: Mapping[str, Sequence[Parameter]]) -> None:
        """Record that gradients are about to be computed backward from a tensor."""
        if self._records:
            self._learner.compute(root, sources)

    def announce(self, requests: Sequence[Request]) -> None:
        """Record requests that this thread announces."""
        if self._records:
            self._learner.announce(requests)

    def awaited(self, name: str) -> None:
        """Tell the machine that a thread has waited long for a collective."""
        self._tell(Awaited(name))

    def waited(self, name: str) -> None:
        """Record that the program goes on after a collective."""
        if self._records:
            self._learner.wait(name)

    def end(self) -> None:
        """End an iteration: tell the machine its order, if recorded, and begin the next."""
        self._ended += 1
        self._tell(IterationEnded(self._learner.order() if self._records else None))
        self._learner.begin()
        # Ranks have left a graph, if they have, before they got the last of the iteration.
        self._records = self._ended + 1 == self._machine.offers_at
