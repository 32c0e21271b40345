"""What iterations around a change of plan took, against others under the same plan."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Iterations after a change that are not what others are compared with.
NEAR = 2
LIMIT = 2.0


@dataclass(frozen=True)
class Costs:
    """Times as multiples of the median.

    Args:
        at: of iterations in which the plan changed.
        after: of those that follow.
        others: of all others.
    """

    at: list[float]
    after: list[float]
    others: list[float]

    def worst_and_median(self) -> list[float]:
        """Median and worst at a change, and after it; 99th percentile and worst of all others."""
        found = []
        for values in (self.at, self.after):
            found += [statistics.median(values), max(values)]
        return [*found, sorted(self.others)[int(0.99 * len(self.others))], max(self.others)]

    def over(self, values: Sequence[float]) -> str:
        """How many are over the limit."""
        return f"{sum(value > LIMIT for value in values)} of {len(values)}"


def costs_of(seconds: Sequence[float], plans: Sequence[int], first: int, shapes: int) -> Costs:
    """From what each iteration took.

    Args:
        seconds: of each iteration.
        plans: number of the plan after each.
        first: number of the plan before all.
        shapes: how many there are; plans take them in turn.
    """
    before = [first, *plans[:-1]]
    changes = [index for index, plan in enumerate(plans) if plan != before[index]]
    near = {change + step for change in changes for step in range(NEAR)}
    of_shape: dict[int, list[float]] = {}
    for index, plan in enumerate(plans):
        # The very first one begins a job.
        if index not in near and index > 0:
            of_shape.setdefault(plan % shapes, []).append(seconds[index])
    median_s = {shape: statistics.median(values) for shape, values in of_shape.items()}
    at, after, others = [], [], []
    for index, plan in enumerate(plans):
        both = {plan % shapes, before[index] % shapes}
        if index == 0 or not both <= median_s.keys():
            continue
        slower_s = max(median_s[shape] for shape in both)
        share = seconds[index] / slower_s
        if index in changes:
            at.append(share)
        elif index in near:
            after.append(share)
        else:
            others.append(share)
    return Costs(at, after, others)
