"""What a tuned job's iterations and its tuner's log come to. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.autotune.tuner.decision import Action
from plink.files.autotune_log import Entry

# Iterations by which a phase is judged.
SETTLED = 10
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
    """When the network changed.

    Args:
        changed_s: from then on it was another one.
        restored_s: from then on it was as before.
        ended_s: the end of the training.
    """

    changed_s: float
    restored_s: float
    ended_s: float


@dataclass(frozen=True)
class Figures:
    """A scenario's. Times are medians of iterations.

    Args:
        before_s, tuned_s, after_s: the last iterations before the change, before it was undone, and
            of all.
        untouched_s: after the change with the plan that was in force at it; of the same training,
            before the first new plan, if there was one.
        decisions: of the tuner until it gave out the first plan that is within 10 % of the best.
            None where none was.
        seconds_to_good: from the change until that plan was in force.
        plans_changed, plans_restored, plans_before: new plans while the network was so.
        load_ratio: of the busiest host's bytes to the least busy one's, the worst of all windows
            of the job's first plan before the change.
        load_ratio_after: the same, of the last window of all.
        switch_ratio: of the slowest iteration around a switch to the median of the slower plan.
        reprobes: how often hosts were named to be probed again.
    """

    before_s: float
    untouched_s: float
    tuned_s: float
    after_s: float
    decisions: int | None
    seconds_to_good: float | None
    plans_before: int
    plans_changed: int
    plans_restored: int
    load_ratio: float
    load_ratio_after: float
    switch_ratio: float | None
    reprobes: int


def median_s(iterations: Sequence[Iteration]) -> float:
    """What they took; not a number of none."""
    return statistics.median(each.seconds for each in iterations) if iterations else float("nan")


def figures(
    iterations: Sequence[Iteration],
    entries: Sequence[Entry],
    phases: Phases,
    best_s: float | None,
    *,
    lag_s: float = 1.0,
) -> Figures:
    """All of them.

    Args:
        iterations: of a training, in order.
        entries: of its tuner's log.
        phases: of the network.
        best_s: what the best static plan takes on the changed network; None: what the tuner
            came to.
        lag_s: of what follows a change, that long is left out.
    """
    before = [each for each in iterations if each.ended_s <= phases.changed_s]
    changed = [
        each
        for each in iterations
        if phases.changed_s + lag_s < each.ended_s - each.seconds
        and each.ended_s <= phases.restored_s
    ]
    first = before[-1].plan
    untouched = [each for each in changed if each.plan == first]
    tuned_s = median_s(changed[-SETTLED:])
    good_s = GOOD * (tuned_s if best_s is None else best_s)
    found = _first_good(changed, good_s, first)
    made = [entry for entry in entries if _is_new_plan(entry, entries)]
    since = [e for e in entries if phases.changed_s < e.now_s <= phases.restored_s]
    return Figures(
        before_s=median_s(before[-3 * SETTLED :]),
        untouched_s=median_s(untouched),
        tuned_s=tuned_s,
        after_s=median_s(iterations[-SETTLED:]),
        decisions=None if found is None else sum(e.now_s <= found for e in since),
        seconds_to_good=None if found is None else found - phases.changed_s,
        plans_before=sum(e.now_s <= phases.changed_s for e in made),
        plans_changed=sum(phases.changed_s < e.now_s <= phases.restored_s for e in made),
        plans_restored=sum(e.now_s > phases.restored_s for e in made),
        load_ratio=max(
            (load_ratio(e) for e in entries if e.now_s <= phases.changed_s), default=float("nan")
        ),
        load_ratio_after=load_ratio(entries[-1]) if entries else float("nan"),
        switch_ratio=switch_ratio(iterations),
        reprobes=sum(entry.action is Action.REPROBE for entry in entries),
    )


def load_ratio(entry: Entry) -> float:
    """The bytes of the busiest host, sent and received, over those of the least busy one."""
    sent = entry.window.sent_bytes
    loads = sent.sum(axis=0) + sent.sum(axis=1)
    return float(loads.max() / loads.min())


def switch_ratio(iterations: Sequence[Iteration]) -> float | None:
    """The slowest iteration around a switch over the slower plan's median; None without one.

    A plan starts within the iteration at whose end it is in force first; the next one may have to
    wait for it.
    """
    ratios = []
    for at in range(1, len(iterations)):
        if iterations[at].plan == iterations[at - 1].plan:
            continue
        usual_s = max(
            median_s(iterations[max(0, at - SETTLED) : at]),
            median_s(iterations[at + 1 : at + 1 + SETTLED]) if at + 1 < len(iterations) else 0.0,
        )
        slowest_s = max(each.seconds for each in iterations[at : at + 2])
        ratios.append(slowest_s / usual_s)
    return max(ratios, default=None)


def _first_good(changed: Sequence[Iteration], good_s: float, first: int) -> float | None:
    """When the first plan came that is good by its median, or when the change did no harm."""
    plans = list(dict.fromkeys(each.plan for each in changed))
    for plan in plans:
        under = [each for each in changed if each.plan == plan]
        if len(under) > 1 and plan != first and median_s(under[1:]) <= good_s:
            return under[0].ended_s - under[0].seconds
    if len(plans) == 1 and changed and median_s(changed) <= good_s:
        return changed[0].ended_s - changed[0].seconds
    return None


def _is_new_plan(entry: Entry, entries: Sequence[Entry]) -> bool:
    return entry.plan != entry.window.plan


def settled_windows(entries: Sequence[Entry], since_s: float) -> tuple[int, int]:
    """How many windows there were since then, and since the last new plan after it."""
    since = [entry for entry in entries if entry.now_s > since_s]
    new = [at for at, entry in enumerate(since) if entry.plan != entry.window.plan]
    return len(since), len(since) - (new[-1] + 1 if new else 0)


def host_loads(entry: Entry) -> list[float]:
    """(H,) what each host sent and received in an iteration."""
    sent = np.asarray(entry.window.sent_bytes)
    loads: list[float] = (sent.sum(axis=0) + sent.sum(axis=1)).tolist()
    return loads
