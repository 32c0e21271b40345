"""Ends of a rank's iterations, and the graph learnt in each; for the mode `graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torch import Tensor
from torch.nn import Parameter

from plink.torch.named.learning import Learner
from plink.training.control.events import Awaited, Event, IterationEnded
from plink.training.control.graphed import Graphed
from plink.training.control.requests import Request


class Iterations:
    """Records those whose order is offered to other ranks.

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
        """Gradients are about to be computed backward from here."""
        if self._records:
            self._learner.compute(root, sources)

    def announce(self, requests: Sequence[Request]) -> None:
        """Record requests that this thread announces."""
        if self._records:
            self._learner.announce(requests)

    def awaited(self, name: str) -> None:
        """A thread waits for it, longer than usual."""
        self._tell(Awaited(name))

    def waited(self, name: str) -> None:
        """Record that the program goes on."""
        if self._records:
            self._learner.wait(name)

    def end(self) -> None:
        """The program has got all that it wanted in this iteration."""
        self._ended += 1
        self._tell(IterationEnded(self._learner.order() if self._records else None))
        self._learner.begin()
        # Ranks have left a graph, if they have, before they got the last of the iteration.
        self._records = self._ended + 1 == self._machine.offers_at
