"""Tables whose rounds are alike, as those of rings: a few rounds say what all of them take.

Rounds of a ring settle to a pace within few: what the second half of those that are simulated took
is what the others take, each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plink.simulate.making import parts_of, schedule_of_table
from plink.simulate.schedule import Schedule
from plink.solvers.collectives.steps import PeerTable

# Sizes of parts differ by their rounding.
_ALIKE_BYTES = 64.0


@dataclass(frozen=True)
class Pace:
    """The rounds that are simulated.

    Args:
        half: the schedule of the first half of them.
        half_rounds, rounds: how many there are in it, and in all that are simulated.
        of_rounds: how many the table has.
    """

    half: Schedule
    half_rounds: int
    rounds: int
    of_rounds: int

    def time_s(self, half_s: float, rounds_s: float) -> float:
        """Extrapolate the time of all rounds.

        Args:
            half_s, rounds_s: what the first half takes, and what all that are simulated take.
        """
        each_s = (rounds_s - half_s) / (self.rounds - self.half_rounds)
        return rounds_s + each_s * (self.of_rounds - self.rounds)


def pace_of(table: PeerTable, rounds: int) -> tuple[Schedule, Pace] | None:
    """Return the schedule of the first rounds, and how to go on from them.

    Args:
        table: whose rounds may be alike.
        rounds: how many are simulated, 2 or more.

    Returns:
        None where rounds differ, or there are no more than that.
    """
    count = len(table.rounds)
    if parts_of(table) > 1 or count <= rounds:
        return None
    first = table.rounds[0]
    for step in table.rounds[1:]:
        if not np.array_equal(step.sources, first.sources):
            return None
        if not np.array_equal(step.destinations, first.destinations):
            return None
        if np.abs(step.sizes_bytes - first.sizes_bytes).max(initial=0.0) > _ALIKE_BYTES:
            return None
    half, some = (
        schedule_of_table(replace(table, rounds=table.rounds[:number]))
        for number in (rounds // 2, rounds)
    )
    return some, Pace(half, rounds // 2, rounds, count)
