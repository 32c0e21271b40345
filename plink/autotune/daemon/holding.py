"""Which ranks of a job hold still. It knows no sockets and no clock."""

from __future__ import annotations

from collections.abc import Callable

from plink.autotune.protocol.identity import Identity


class Hold:
    """Of one job, one time after the other.

    Args:
        ranks: how many there are.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._plan: Identity | None = None
        self._still: set[int] = set()
        self.when_changed: Callable[[], None] = lambda: None
        """Called when a rank holds still, and when one has left, so that no rank is to any more."""

    @property
    def is_wanted(self) -> bool:
        """Whether ranks are to hold still."""
        return self._plan is not None

    @property
    def is_whole(self) -> bool:
        """Whether all ranks hold still."""
        return len(self._still) == self._ranks

    def begin(self, plan: Identity) -> None:
        """Ranks are to hold still when that plan starts."""
        self._plan = plan
        self._still.clear()

    def end(self) -> None:
        """Ranks may go on."""
        self._plan = None
        self._still.clear()

    def holding(self, rank: int, plan: Identity) -> None:
        """A rank holds still with that plan."""
        if plan == self._plan:
            self._still.add(rank)
            self.when_changed()

    def left(self) -> None:
        """A rank is gone: it goes on, or has ended, so that the others would wait for nothing."""
        if self.is_wanted:
            self.end()
            self.when_changed()
