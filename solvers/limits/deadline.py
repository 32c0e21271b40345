"""When a search must be over, asked by all of its parts."""

from __future__ import annotations

from plink.solvers import _native


class Deadline:
    """A moment that is so many seconds away, or the moment at which it is stopped before.

    One is made where the time begins to count, and handed down. A part of it ends no later, and
    stops with it. Native loops ask it too, and heed Ctrl-C where they run on the main thread.

    Args:
        seconds: from now; 0 for one that is over.
    """

    def __init__(self, seconds: float) -> None:
        self.native = _native.Deadline(seconds)

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""
        left_s: float = self.native.left_s
        return left_s

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return bool(self.native.is_over)

    def require(self) -> None:
        """Raise TimeoutError where no time is left."""
        if self.is_over:
            raise TimeoutError

    def stop(self) -> None:
        """Let it and all its parts be over now."""
        self.native.stop()

    def within(self, seconds: float) -> Deadline:
        """Return one that is so many seconds away, if this one is not earlier."""
        return _of(self.native.part(seconds))

    def at_least(self, seconds: float) -> Deadline:
        """Return a deadline at least so many seconds away, for work that is always done.

        It stops with this one.
        """
        return _of(self.native.at_least(seconds))

    def part(self, share: float) -> Deadline:
        """Return one after a share of what is left."""
        return self.within(share * self.left_s)


def _of(native: _native.Deadline) -> Deadline:
    deadline = Deadline.__new__(Deadline)
    deadline.native = native
    return deadline
