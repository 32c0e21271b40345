"""Detect the ends of iterations: by the program's marks, its optimizers, or repeating sizes.

What the program marks itself counts alone. Else an iteration goes from step to step of one
optimizer. Where nothing marks and nothing steps, it is the period of the collectives' sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# A period has to be seen so often.
LEAST_PERIODS = 3
# Looking farther back would cost more than it tells.
_MOST_SIZES = 2048
# Programs reduce other things now and then: so much of what is compared has to agree.
_LEAST_AGREEMENT = 0.5

# How many are kept of one window; a program that steps more often does not need them all.
MOST_MARKERS = 1 << 14
# Some programs have an optimizer for each parameter; they all step alike.
MOST_OPTIMIZERS = 16
# Steps of one before a choice: another may begin only when this one has stepped some times.
_TO_CHOOSE = 2 * (LEAST_PERIODS + 1)
# An optimizer that has hardly stepped while another did so often does not pace the iterations.
_OFTEN = 16 * (LEAST_PERIODS + 1)


@dataclass(frozen=True)
class IterationSource:
    """Source of a program's iteration boundaries, in one window and in the next.

    Args:
        is_program: the program itself says where they end.
        optimizer: the one whose steps they go by; None where none has stepped often enough.
    """

    is_program: bool = False
    optimizer: int | None = None


class Markers:
    """The ends of iterations in one window of measurements.

    The program's thread adds to it while the thread that begins collectives reads it.

    If there are several optimizers, the one that steps least often counts, since a program may step
    another more than once an iteration. It stays that one in later windows, however few of its
    steps fall into one, so that all windows count the same iterations. A step is ignored if nothing
    was reduced since the same optimizer's last.

    Args:
        before: the source in the window before.
    """

    def __init__(self, before: IterationSource = IterationSource()) -> None:
        self._before = before
        self._marked_s: list[float] = []
        self._stepped_s: dict[int, list[float]] = {}
        if before.optimizer is not None:
            self._stepped_s[before.optimizer] = []
        self._begun: dict[int, int] = {}
        self._marked_begun = 0
        # Collectives of the latest whole iteration: by optimizer, and between the program's marks.
        self._between_steps: dict[int, int] = {}
        self._between_marks = 0

    def mark(self, now_s: float, begun: int = 0) -> None:
        """Record that the program ended an iteration.

        Args:
            now_s: the time.
            begun: how many collectives have begun in the window.
        """
        if self._marked_s:
            self._between_marks = begun - self._marked_begun
        self._marked_begun = begun
        if len(self._marked_s) < MOST_MARKERS:
            self._marked_s.append(now_s)

    def step(self, optimizer: int, now_s: float, begun: int) -> None:
        """An optimizer has stepped.

        Args:
            optimizer: which one.
            now_s: the time.
            begun: how many collectives have begun, the one with which the window began included.
        """
        if begun == self._begun.get(optimizer, 0):
            return
        if optimizer not in self._stepped_s and len(self._stepped_s) == MOST_OPTIMIZERS:
            return
        steps = self._stepped_s.setdefault(optimizer, [])
        if optimizer in self._begun:
            self._between_steps[optimizer] = begun - self._begun[optimizer]
        if len(steps) < MOST_MARKERS:
            steps.append(now_s)
            self._begun[optimizer] = begun

    @property
    def is_by_program(self) -> bool:
        """Whether the program itself says where iterations end."""
        return bool(self._marked_s) or self._before.is_program

    @property
    def are_expected(self) -> bool:
        """Whether more may come: there were some in this window or in the one before."""
        return self.is_by_program or bool(self._stepped_s)

    @property
    def replace_periods(self) -> bool:
        """Whether iterations go by markers alone, however few there are, not by sizes."""
        return self.is_by_program or self.source.optimizer is not None

    @property
    def source(self) -> IterationSource:
        """Source for the next window."""
        optimizer = self._choose_optimizer()
        most = max(map(len, list(self._stepped_s.values())), default=0)
        is_clear = most >= _TO_CHOOSE and self._is_enough(self._steps(optimizer))
        is_known = optimizer == self._before.optimizer or is_clear
        return IterationSource(bool(self._marked_s), optimizer if is_known else None)

    @property
    def are_enough(self) -> bool:
        """Whether there are enough for a window."""
        return self.will_be_enough(0)

    def will_be_enough(self, to_come: int) -> bool:
        """Return whether there are enough for a window once so many more iterations end."""
        times_s = self.times_s
        return bool(times_s) and len(times_s) + to_come > LEAST_PERIODS

    @property
    def collectives(self) -> int | None:
        """How many collectives the latest iteration began; None where nothing tells."""
        if self.is_by_program:
            return self._between_marks or None
        optimizer = self._choose_optimizer()
        return None if optimizer is None else self._between_steps.get(optimizer)

    @property
    def times_s(self) -> Sequence[float]:
        """Return when iterations ended; empty if unknown."""
        return self._marked_s if self.is_by_program else self._steps(self.source.optimizer)

    def _steps(self, optimizer: int | None) -> Sequence[float]:
        return [] if optimizer is None else self._stepped_s[optimizer]

    def _choose_optimizer(self) -> int | None:
        """Return the optimizer whose steps count; it stays the one that was chosen before.

        One that has stepped only a few times is waited for, until another has stepped so often
        that the first hardly ever will.
        """
        steps = {one: len(stepped_s) for one, stepped_s in list(self._stepped_s.items())}
        if max(steps.values(), default=0) >= _OFTEN:
            steps = {one: count for one, count in steps.items() if count > LEAST_PERIODS}
        if self._before.optimizer in steps:
            return self._before.optimizer
        return min(steps, key=steps.__getitem__, default=None)

    @staticmethod
    def _is_enough(times_s: Sequence[float]) -> bool:
        return len(times_s) > LEAST_PERIODS


def period_of(sizes: Sequence[int]) -> int | None:
    """Return the period of a sequence of sizes; None if it has none.

    The distance at which most sizes agree, the least of such distances.

    Args:
        sizes: of collectives, in order.
    """
    tail = np.asarray(sizes[-_MOST_SIZES:], dtype=np.int64)
    best, period = 0.0, None
    for distance in range(1, len(tail) // LEAST_PERIODS + 1):
        agreement = float((tail[distance:] == tail[:-distance]).mean())
        if agreement > best:
            best, period = agreement, distance
            if agreement == 1.0:
                break
    return period if best >= _LEAST_AGREEMENT else None


def iteration_seconds(
    times_s: Sequence[float], markers_s: Sequence[float], period: int | None
) -> npt.NDArray[np.float64]:
    """Return (K,) what each iteration took: between markers if there are two, else between periods.

    Args:
        times_s: when each collective was begun.
        markers_s: when iterations ended, as markers tell.
        period: of collectives; None if none was found.
    """
    if len(markers_s) > 1:
        return np.diff(np.asarray(markers_s, dtype=np.float64))
    if period is None:
        return np.empty(0)
    return np.diff(np.asarray(times_s[::-period], dtype=np.float64)[::-1])
