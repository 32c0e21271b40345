"""Where iterations end, as the program says or its optimizers show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.training.iterations import LEAST_PERIODS

# Of one window; a program that steps more often has no need of them all.
MOST_MARKS = 1 << 14
# Some programs have an optimizer for each parameter; they all step alike.
MOST_OPTIMIZERS = 16
# Steps of one before a choice: another may begin only when this one has stepped some times.
_TO_CHOOSE = 2 * (LEAST_PERIODS + 1)
# An optimizer that has hardly stepped while another did so often is not what iterations are of.
_OFTEN = 16 * (LEAST_PERIODS + 1)


@dataclass(frozen=True)
class Habit:
    """How a program has shown its iterations in one window, as it will in the next.

    Args:
        is_marked: it says itself where they end.
        optimizer: from whose step to step they go; None where none has stepped often enough.
    """

    is_marked: bool = False
    optimizer: int | None = None


class Marks:
    """Of one window. The program's thread adds to it while who begins collectives looks at it.

    What the program marks counts alone. Else an iteration is from step to step of one optimizer:
    the one that steps least often, for a program with several may step one of them more than once
    an iteration. It stays that one in later windows, however few of its steps fall into one, so
    that all windows count in the same iterations. A step before which nothing was reduced since the
    same optimizer's last is none.

    Args:
        habit: of the window before.
    """

    def __init__(self, habit: Habit = Habit()) -> None:
        self._before = habit
        self._marked_s: list[float] = []
        self._stepped_s: dict[int, list[float]] = {}
        if habit.optimizer is not None:
            self._stepped_s[habit.optimizer] = []
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
    def is_marked(self) -> bool:
        """Whether the program says itself where iterations end."""
        return bool(self._marked_s) or self._before.is_marked

    @property
    def are_to_come(self) -> bool:
        """Whether there may be more, for there were some, or were in the window before."""
        return self.is_marked or bool(self._stepped_s)

    @property
    def count_alone(self) -> bool:
        """Whether iterations go by them, and by nothing else however few there are."""
        return self.is_marked or self.habit.optimizer is not None

    @property
    def habit(self) -> Habit:
        """For the next window."""
        optimizer = self._chosen()
        most = max(map(len, list(self._stepped_s.values())), default=0)
        is_clear = most >= _TO_CHOOSE and self._is_enough(self._steps(optimizer))
        is_known = optimizer == self._before.optimizer or is_clear
        return Habit(bool(self._marked_s), optimizer if is_known else None)

    @property
    def are_enough(self) -> bool:
        """Whether there are enough for a window."""
        return self._is_enough(self.times_s)

    @property
    def times_s(self) -> Sequence[float]:
        """When iterations ended; empty where nothing tells."""
        return self._marked_s if self.is_marked else self._steps(self.habit.optimizer)

    def _steps(self, optimizer: int | None) -> Sequence[float]:
        return [] if optimizer is None else self._stepped_s[optimizer]

    def _chosen(self) -> int | None:
        """The optimizer whose steps count. A choice is for good: those are waited for that have
        stepped a few times only, until another has so often that they hardly ever will."""
        steps = {one: len(stepped_s) for one, stepped_s in list(self._stepped_s.items())}
        if max(steps.values(), default=0) >= _OFTEN:
            steps = {one: count for one, count in steps.items() if count > LEAST_PERIODS}
        if self._before.optimizer in steps:
            return self._before.optimizer
        return min(steps, key=steps.__getitem__, default=None)

    @staticmethod
    def _is_enough(times_s: Sequence[float]) -> bool:
        return len(times_s) > LEAST_PERIODS
