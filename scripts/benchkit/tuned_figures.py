"""What a tuned job's iterations and its tuner's log come to. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from plink.autotune.log.records import Entry

# Iterations by which a phase is judged, and windows.
SETTLED = 10
RESTING = 5
# A plan is as good as another that takes so little less.
GOOD = 1.1


@dataclass(frozen=True)
class Iteration:
    """What rank 0 saw of one.

    Args:
        ended_s: since the epoch, as in the tuner's log.
        seconds: that it took.
        plan: in force at its end, as the daemon numbers plans.
    """

    ended_s: float
    seconds: float
    plan: int


@dataclass(frozen=True)
class Phases:
    """When the network changed; all since the epoch.

    Args:
        changing_s: from then on it was another one.
        changed_s: from then on it stayed as it was.
        restored_s: from then on it was as before.
    """

    changing_s: float
    changed_s: float
    restored_s: float


@dataclass(frozen=True)
class Figures:
    """A scenario's. Times are medians of iterations; not a number where there was none.

    Args:
        before_s: before the change.
        untouched_s: on the changed network, with the plan from before.
        tuned_s: the last on the changed network.
        after_s: the last of all.
        seconds_to_plan: from the change to the decision for the first new plan; None without one.
        decisions: of the tuner on the changed network until it gave out the first good plan, which
            is within 10 % of the best; None where no plan was good.
        seconds_to_good: until that plan was in force.
        new_plans: before the change, on the changed network, after.
        load_ratio: of the busiest host's bytes to those of the least busy one, in the last windows
            before the change.
        switch_ratio: of the slowest iteration in which a plan began, or the next, to the median of
            the slower of both plans; None without a new plan.
    """

    before_s: float
    untouched_s: float
    tuned_s: float
    after_s: float
    seconds_to_plan: float | None
    decisions: int | None
    seconds_to_good: float | None
    new_plans: tuple[int, int, int]
    load_ratio: float
    switch_ratio: float | None


def figures(
    iterations: Sequence[Iteration],
    entries: Sequence[Entry],
    phases: Phases,
    best_s: float | None,
) -> Figures:
    """All of them.

    Args:
        iterations: of a training, in order.
        entries: of its tuner's log.
        phases: of the network.
        best_s: what the best static plan takes on the changed network; None: what the tuner
            came to.
    """
    before = [each for each in iterations if each.ended_s <= phases.changing_s]
    changed = [
        each
        for each in iterations
        if each.ended_s - each.seconds > phases.changed_s and each.ended_s <= phases.restored_s
    ]
    first = before[-1].plan if before else 0
    tuned_s = median_s(changed[-SETTLED:])
    good_at_s = _good_at_s(changed, GOOD * (tuned_s if best_s is None else best_s))
    on_changed = [e for e in entries if phases.changed_s < e.now_s <= phases.restored_s]
    earlier = [e for e in entries if e.now_s <= phases.changing_s]
    later = [e for e in entries if e.now_s > phases.restored_s]
    while_changed = [e for e in entries if phases.changing_s < e.now_s <= phases.restored_s]
    return Figures(
        before_s=median_s(before[-3 * SETTLED :]),
        untouched_s=median_s([each for each in changed if each.plan == first]),
        tuned_s=tuned_s,
        after_s=median_s(iterations[-SETTLED:]),
        seconds_to_plan=next(
            (e.now_s - phases.changed_s for e in on_changed if _is_new_plan(e)), None
        ),
        decisions=None if good_at_s is None else sum(e.now_s <= good_at_s for e in on_changed),
        seconds_to_good=None if good_at_s is None else good_at_s - phases.changed_s,
        new_plans=(_new_plans(earlier), _new_plans(while_changed), _new_plans(later)),
        load_ratio=load_ratio(earlier[-RESTING:]),
        switch_ratio=switch_ratio(iterations),
    )


def median_s(iterations: Sequence[Iteration]) -> float:
    """What they took; not a number of none."""
    return statistics.median(each.seconds for each in iterations) if iterations else math.nan


def load_ratio(entries: Sequence[Entry]) -> float:
    """What the busiest host sent and received over the same of the least busy one."""
    if not entries:
        return math.nan
    sent = sum(entry.window.sent_bytes for entry in entries)
    loads = sent.sum(axis=0) + sent.sum(axis=1)  # type: ignore[union-attr]
    return float(loads.max() / loads.min())


def switch_ratio(iterations: Sequence[Iteration]) -> float | None:
    """The slowest iteration at a switch over the slower plan's median; None without a switch."""
    ratios = []
    for at in range(1, len(iterations) - 1):
        if iterations[at].plan != iterations[at - 1].plan:
            around = iterations[max(0, at - SETTLED) : at], iterations[at + 1 : at + 1 + SETTLED]
            usual_s = max(median_s(each) for each in around)
            ratios.append(max(each.seconds for each in iterations[at : at + 2]) / usual_s)
    return max(ratios, default=None)


def since_new_plan(entries: Sequence[Entry]) -> tuple[int, int]:
    """How many windows there are, and how many since the last new plan among them."""
    new = [at for at, entry in enumerate(entries) if _is_new_plan(entry)]
    return len(entries), len(entries) - (new[-1] + 1 if new else 0)


def _good_at_s(changed: Sequence[Iteration], good_s: float) -> float | None:
    """When the first plan began whose iterations, without its first, are good."""
    for plan in dict.fromkeys(each.plan for each in changed):
        under = [each for each in changed if each.plan == plan]
        if len(under) > 1 and median_s(under[1:]) <= good_s:
            return under[0].ended_s - under[0].seconds
    return None


def _new_plans(entries: Sequence[Entry]) -> int:
    return sum(_is_new_plan(entry) for entry in entries)


def _is_new_plan(entry: Entry) -> bool:
    return entry.plan != entry.window.plan
