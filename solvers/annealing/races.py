"""Temperature schedules of raced annealing courses, and their shares of the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

# Shares of less are 0.
LEAST_HEAT = 1e-290


@dataclass(frozen=True)
class Falling:
    """Parameters that fall geometrically, first and last value, in spreads of the distances."""

    softness: tuple[float, float]
    temperature: tuple[float, float]


@dataclass(frozen=True)
class Race:
    """Race of annealing courses from one start at several temperatures, with shares of the time.

    Where hosts stand in racks, a cold course polishes those that the start has; where few outliers
    make the cost, all but a hot one is stuck, and where few distances differ, a smoothed maximum
    may be least elsewhere than the cost: then a hard one finds what the others miss, from a random
    order. The heat that found the cheapest order goes on, some times, from the start again: what
    one course ends in is much by chance. The rest of the time polishes the best order.
    """

    heats: tuple[float, ...]
    trial: float
    hard_trial: float
    courses: tuple[float, ...]
    falling: Falling
    polish: Falling

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of the time in sequence: trials, hard trial, courses, final polish."""
        before = (*(self.trial for _ in self.heats), self.hard_trial, *self.courses)
        return (*before, 1.0 - sum(before))

    def without_hard(self) -> Race:
        """Return the race without its hard trial, whose share goes to the first course."""
        first, *others = self.courses
        return replace(self, hard_trial=0.0, courses=(first + self.hard_trial, *others))


# A temperature of rounds begins in spreads over a round's edges: a maximum that is as soft as the
# distances spread weighs every edge with one over their number.
ROUNDS = Race(
    heats=(0.5, 1.0, 2.0, 6.0),
    trial=0.08,
    hard_trial=0.14,
    courses=(0.22, 0.22),
    falling=Falling((1.5, 1 / 30), (1.6, 1 / 400)),
    polish=Falling((1 / 30, 1 / 1000), (1 / 200, 1 / 10000)),
)
TREES = Race(
    heats=(1.0, 3.0),
    trial=0.12,
    hard_trial=0.16,
    courses=(0.25, 0.25),
    falling=Falling((0.5, 1 / 50), (0.3, 1 / 400)),
    polish=Falling((1 / 50, 1 / 200), (1 / 400, 1 / 4000)),
)
# Few ranks have few good orders, each hard to leave: nothing falls as far.
TREES_OF_FEW = replace(
    TREES,
    heats=(1.0,),
    trial=0.225,
    hard_trial=0.0,
    courses=(0.225, 0.225, 0.225),
    falling=Falling((1 / 2, 1 / 10), (0.3, 1 / 20)),
)


def leg_at(progress: float, shares: Sequence[float]) -> tuple[int, float]:
    """Return which share of the time a moment falls in, and the progress within it."""
    before = 0.0
    for number, share in enumerate(shares):
        if progress < before + share:
            return number, (progress - before) / share
        before += share
    return len(shares) - 1, 1.0


def between(first: float, last: float, share: float) -> float:
    """Interpolate geometrically from `first` to `last`."""
    return float(first * (last / first) ** share)
