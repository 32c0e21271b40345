"""Where iterations end, as the program says or its optimizers show."""

from __future__ import annotations

from collections.abc import Sequence

from plink.autotune.ranks.iterations import LEAST_PERIODS

# Of one window; a program that steps more often has no need of them all.
MOST_MARKS = 1 << 14
# Some programs have an optimizer for each parameter; they all step alike.
MOST_OPTIMIZERS = 16


class Marks:
    """Of one window. The program's thread adds to it while who begins collectives looks at it.

    What the program marks counts alone. Else an iteration is from step to step of one optimizer:
    the one that steps least often, for a program with several may step one of them more than once
    an iteration. A step before which nothing was reduced since the same optimizer's last is none.
    """

    def __init__(self) -> None:
        self._marked_s: list[float] = []
        self._stepped_s: dict[int, list[float]] = {}
        self._begun: dict[int, int] = {}

    def mark(self, now_s: float) -> None:
        """The program says that an iteration ends."""
        if len(self._marked_s) < MOST_MARKS:
            self._marked_s.append(now_s)

    def step(self, optimizer: int, now_s: float, begun: int) -> None:
        """An optimizer has stepped.

        Args:
            optimizer: which one.
            now_s: the time.
            begun: how many collectives have begun in the window.
        """
        if begun == self._begun.get(optimizer, 0):
            return
        if optimizer not in self._stepped_s and len(self._stepped_s) == MOST_OPTIMIZERS:
            return
        steps = self._stepped_s.setdefault(optimizer, [])
        if len(steps) < MOST_MARKS:
            steps.append(now_s)
            self._begun[optimizer] = begun

    @property
    def has_any(self) -> bool:
        """Whether something was said or shown."""
        return bool(self._marked_s or self._stepped_s)

    @property
    def times_s(self) -> Sequence[float]:
        """When iterations ended; empty where nothing tells."""
        if len(self._marked_s) > 1:
            return self._marked_s
        # One that steps once an epoch is not what iterations are of.
        stepped_s = list(self._stepped_s.values())
        often = [steps for steps in stepped_s if len(steps) > LEAST_PERIODS]
        return min(often, key=len, default=[])
