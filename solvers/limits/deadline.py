"""Deadline that all parts of a search share, native loops included."""

from __future__ import annotations

from plink.solvers import _native

# Work that is limited otherwise ends long before.
FOREVER_S = 1e8


class Deadline:
    """Point in time when a search must end; its parts end no later, and `stop` ends it at once.

    One is made where the time begins to count, and handed down. A part of it ends no later, and
    stops with it. Native loops ask it too, and heed Ctrl-C where they run on the main thread.

    Args:
        seconds: from now; 0 for one that is over; years if left out.
    """

    def __init__(self, seconds: float = FOREVER_S) -> None:
        self.native = _native.Deadline(seconds)

    @property
    def left_s(self) -> float:
        """Seconds that are left until the deadline, at least 0."""
        left_s: float = self.native.left_s
        return left_s

    @property
    def is_over(self) -> bool:
        """Whether no time is left until the deadline."""
        return bool(self.native.is_over)

    def require(self) -> None:
        """Raise TimeoutError if no time is left."""
        if self.is_over:
            raise TimeoutError

    def stop(self) -> None:
        """End the deadline now, for all parts of a search."""
        self.native.stop()

    def within(self, seconds: float) -> Deadline:
        """Return a deadline in some seconds, but no later than this one."""
        return _wrap(self.native.part(seconds))

    def at_least(self, seconds: float) -> Deadline:
        """Return a deadline at least `seconds` away, for work that must be done.

        It stops with this one.
        """
        return _wrap(self.native.at_least(seconds))

    def part(self, share: float) -> Deadline:
        """Return a deadline after a share, 0 to 1, of the time that remains."""
        return self.within(share * self.left_s)


def _wrap(native: _native.Deadline) -> Deadline:
    deadline = Deadline.__new__(Deadline)
    deadline.native = native
    return deadline
