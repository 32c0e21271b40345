"""Slots of an order that follows from the graph, as this rank's announcements fill them."""

from __future__ import annotations

from dataclasses import replace

from plink.training.control.graph import Order
from plink.training.control.requests import UNNAMED, Request


class Slots:
    """One request array for each buffer, with a slot for each all-reduce.

    A buffer is begun when all its slots are filled and all before it are begun; after the last the
    first follows again, in the next iteration.

    Args:
        order: with at least one buffer. What the program did not name is in it by its place among
            those of an iteration.
    """

    def __init__(self, order: Order) -> None:
        self._order = order
        self._numbers = {request.name: i for i, request in enumerate(order.requests)}
        self._buffer_of: list[int] = []
        for i, (first, end) in enumerate(order.buffers):
            self._buffer_of += [i] * (end - first)
        self._filled: list[Request | None] = [None] * len(order.requests)
        self._missing = [end - first for first, end in order.buffers]
        unnamed = [request.name for request in order.requests if _is_unnamed(request)]
        self._unnamed = sorted(unnamed, key=lambda name: int(name[len(UNNAMED) :]))
        self._next_unnamed = 0
        self._is_confused = False
        self.begun = 0

    @property
    def buffers(self) -> int:
        """Number of buffers in an iteration."""
        return len(self._order.buffers)

    @property
    def is_between_iterations(self) -> bool:
        """Whether all of an iteration is begun, and nothing of the next is announced."""
        return not self.begun % self.buffers and not any(self._filled)

    @property
    def has_full(self) -> bool:
        """Whether the next buffer can begin."""
        return not self._missing[self.begun % self.buffers]

    def missing(self, most: int = 1 << 20) -> tuple[str, ...]:
        """Return the names that the next buffer lacks."""
        first, end = self._order.buffers[self.begun % self.buffers]
        lacking = [number for number in range(first, end) if self._filled[number] is None]
        return tuple(self._order.requests[number].name for number in lacking[:most])

    def lacks_before(self, name: str) -> str:
        """Return an unannounced name that an announced one waits for; empty if there is none."""
        if not any(one is not None and one.name == name for one in self._filled):
            return ""
        return next(iter(self.missing(1)), "")

    def fill(self, request: Request) -> str:
        """Fill a slot with an announced request; return why it has none, or an empty text.

        Once something without a name has none, nothing that follows without a name has one: their
        places would not be those that were learnt.
        """
        name = request.name
        if _is_unnamed(request):
            if self._is_confused or not self._unnamed:
                self._is_confused = True
                return f"a {request.kind} without a name was not in the iteration that was learnt"
            name = self._unnamed[self._next_unnamed]
        number = self._numbers.get(name)
        if number is None:
            return f"'{name}' was not in the iteration that was learnt"
        known = self._order.requests[number]
        if known != replace(request, name=name):
            self._is_confused |= _is_unnamed(request)
            return f"'{name}' is {request.described()}, and {known.described()} was learnt"
        if self._filled[number] is not None:
            self._is_confused |= _is_unnamed(request)
            return f"'{name}' came again before all of an iteration had begun"
        if _is_unnamed(request):
            self._next_unnamed = (self._next_unnamed + 1) % len(self._unnamed)
        self._filled[number] = request
        self._missing[self._buffer_of[number]] -= 1
        return ""

    def take(self) -> tuple[Request, ...]:
        """The next buffer begins."""
        i = self.begun % self.buffers
        first, end = self._order.buffers[i]
        taken = tuple(one for one in self._filled[first:end] if one is not None)
        self._filled[first:end] = [None] * (end - first)
        self._missing[i] = end - first
        self.begun += 1
        return taken


def _is_unnamed(request: Request) -> bool:
    return request.name.startswith(UNNAMED)
