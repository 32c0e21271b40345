"""When ranks offer each other the order that they have learnt."""

from __future__ import annotations

import re

from plink.training.control.digest import mix_bits
from plink.training.control.graph import Order
from plink.training.control.requests import UNNAMED, Request, Tensor

NOTHING_LEARNT = (
    "no graph was learnt, so ranks go on as in mode 'tree': "
    "call optimizer.learn(loss) before loss.backward()"
)
_KIND = "order"
# How `tree` tells of one, and of who has it.
_OFFERED = re.compile(
    r"([0-9a-f]{8})[0-9a-f]{8} order of int64\[(\d+)\] on (ranks? \d.*?)(?=, and|$)"
)
# An order that held for so many iterations was worth learning.
_WORTH_ITERATIONS = 16
_MOST_FAILURES = 10


class Offers:
    """All that is in it is the same on all ranks at the same place of what is released.

    After a failure it takes longer and longer until the next try.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._held_from = 0
        self.next_at = 1
        # How often an order was taken or left, and a digest of that.
        self.switches = 0
        self.history = 0

    def is_due(self, iterations: int) -> bool:
        """Return whether ranks offer now, after so many iterations."""
        return iterations >= self.next_at

    def taken(self, iterations: int, order: Order) -> None:
        """All have offered the same, after so many iterations."""
        self._held_from = iterations
        self._note(order.digest)

    def refused(self, iterations: int) -> None:
        """Record that the ranks refused, or that there was nothing to offer."""
        self._fail(iterations)

    def left(self, begun: int, buffers: int) -> None:
        """The order held for so many buffers, of so many an iteration."""
        self._note(begun)
        if begun // buffers >= _WORTH_ITERATIONS:
            self._failures = 0
        self._fail(self._held_from + begun // buffers)

    def _note(self, value: int) -> None:
        self.switches += 1
        self.history = mix_bits(self.history ^ value)

    def _fail(self, iterations: int) -> None:
        # The iteration that is under way has not been seen as a whole.
        self.next_at = iterations + 1 + 2**self._failures
        self._failures = min(self._failures + 1, _MOST_FAILURES)


def offer(order: Order | None, iterations: int) -> Request:
    """Return a rank's announcement after so many iterations; None if it learnt nothing."""
    collectives = 0 if order is None else len(order.requests)
    digest = 0 if order is None else order.digest
    name = f"{UNNAMED}order after iteration {iterations}"
    return Request(name, (Tensor("int64", (collectives,)),), kind=_KIND, op=f"{digest:016x}")


def is_offer(request: Request) -> bool:
    """Return whether it is none of the program's."""
    return request.kind == _KIND


def unlike(text: str) -> str:
    """Why ranks do not follow the graph, for people: of how `tree` told that offers differ."""
    offered = [
        f"{ranks}: {collectives} collectives, their order has the digest {digest}"
        for digest, collectives, ranks in _OFFERED.findall(text)
    ]
    said = "; ".join(offered) or text
    return f"ranks have not learnt the same graph, and go on as in mode 'tree': {said}"
