"""Which ranks of a job have paused. It knows no sockets and no clock."""

from __future__ import annotations

from collections.abc import Callable

from plink.autotune.protocol.identity import Identity


class PauseBarrier:
    """Complete when all ranks of a job have paused; used for one pause after another.

    Args:
        ranks: how many there are.
    """

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._plan: Identity | None = None
        self._paused: set[int] = set()
        self.when_changed: Callable[[], None] = lambda: None
        """Called when a rank has paused, and when one has left, which ends the pause."""

    @property
    def is_active(self) -> bool:
        """Whether ranks are to pause."""
        return self._plan is not None

    @property
    def is_complete(self) -> bool:
        """Whether all ranks have paused."""
        return len(self._paused) == self._ranks

    def begin(self, plan: Identity) -> None:
        """Ranks are to pause when that plan starts."""
        self._plan = plan
        self._paused.clear()

    def end(self) -> None:
        """Ranks may go on."""
        self._plan = None
        self._paused.clear()

    def paused(self, rank: int, plan: Identity) -> None:
        """A rank has paused with that plan."""
        if plan == self._plan:
            self._paused.add(rank)
            self.when_changed()

    def rank_left(self) -> None:
        """A rank is gone: it goes on, or has ended, so that the others would wait in vain."""
        if self.is_active:
            self.end()
            self.when_changed()
