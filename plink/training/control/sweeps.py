"""Rounds over a tree of ranks: values go up, one result comes down."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from plink.training.control.wire import WireError


class Sweeps:
    """One rank's part in one round after the other.

    Children may be a round ahead of a rank that sleeps, never more: each awaits the result.

    Args:
        children: of this rank.
    """

    def __init__(self, children: Iterable[int]) -> None:
        self._come: dict[int, deque[bytes]] = {child: deque() for child in children}
        self._kind: int | None = None
        self._is_passed_on = False

    @property
    def kind(self) -> int | None:
        """Kind of the round that is under way; None between cycles."""
        return self._kind

    def begin(self, kind: int) -> None:
        """This rank takes part in a round from now on."""
        self._kind = kind
        self._is_passed_on = False

    def end(self) -> None:
        """The result has come."""
        self._kind = None

    def expects(self, kind: int) -> bool:
        """Return whether a result of this kind can come."""
        return self._kind == kind and self._is_passed_on

    def hear(self, child: int, message: bytes) -> None:
        """A child passes on its value."""
        if child in self._come:
            self._come[child].append(message)

    def lose(self, child: int) -> None:
        """Nothing more comes of a child, and nothing is awaited."""
        self._come.pop(child, None)

    def take(self) -> dict[int, bytes] | None:
        """Once, the values of all children, when this rank takes part and all have come.

        Raises:
            WireError: `OutOfStepError`, with the child that speaks of another round.
        """
        if self._kind is None or self._is_passed_on or not all(self._come.values()):
            return None
        for child, come in self._come.items():
            if come[0][0] != self._kind:
                raise OutOfStepError(child)
        self._is_passed_on = True
        return {child: come.popleft()[1:] for child, come in self._come.items()}


class OutOfStepError(WireError):
    """A child takes part in another round.

    Args:
        child: which.
    """

    def __init__(self, child: int) -> None:
        super().__init__("it takes part in another round")
        self.child = child
