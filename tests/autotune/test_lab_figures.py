"""What scripts/bench autotune-lab makes of iterations and a log."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchkit.tuned_figures import Iteration, Phases, figures, load_ratio, since_new_plan
from plink.autotune.log.records import Entry
from plink.autotune.tuner.interface import Action, Window

PHASES = Phases(changing_s=20.0, changed_s=20.5, restored_s=61.0)


def iterations_of(*runs: tuple[int, float, int]) -> list[Iteration]:
    """For each run that many iterations, each of that many seconds, under that plan."""
    made, now_s = [], 0.0
    for count, seconds, plan in runs:
        for _ in range(count):
            now_s += seconds
            made.append(Iteration(now_s, seconds, plan))
    return made


def entry(now_s: float, measured: int, plan: int, *, first_sends: float = 1.0) -> Entry:
    sent = np.ones((4, 4)) - np.eye(4)
    sent[0] *= first_sends
    nothing = np.zeros((4, 4))
    window = Window(measured, np.ones(4), sent, sent, nothing, np.zeros(4))
    return Entry(now_s, window, Action.WAIT, "because", plan)


# A change at 20 s makes 1 s into 2 s, a plan at 40 s 1.2 s, and its end at 61 s 1.1 s, until
# the first plan comes back.
TRAINED = iterations_of((20, 1.0, 0), (10, 2.0, 0), (1, 3.0, 1), (15, 1.2, 1), (9, 1.1, 1))
BACK = [Iteration(72.0 + at, 1.0, 2) for at in range(12)]
LOG = [
    *(entry(at, 0, 0) for at in (5.0, 15.0, 26.0, 32.0)),
    entry(38.0, 0, 1),
    *(entry(at, 1, 1, first_sends=0.5) for at in (45.0, 55.0, 64.0)),
    entry(70.0, 1, 2),
    *(entry(at, 2, 2) for at in (75.0, 76.0, 77.0, 78.0, 79.0)),
]


def test_the_phases_of_a_run_are_told_apart() -> None:
    found = figures([*TRAINED, *BACK], LOG, PHASES, best_s=1.15)
    assert (found.before_s, found.untouched_s, found.tuned_s, found.after_s) == (1.0, 2.0, 1.2, 1.0)
    assert found.new_plans == (0, 1, 1)
    # Windows at 26, 32 and 38 s.
    assert found.decisions == 3
    assert found.seconds_to_good == pytest.approx(40.0 - 20.5)
    assert found.switch_ratio == pytest.approx(3.0 / 2.0)


def test_no_plan_is_good_where_the_best_is_far_away() -> None:
    found = figures([*TRAINED, *BACK], LOG, PHASES, best_s=1.0)
    assert found.decisions is found.seconds_to_good is None


def test_a_change_that_does_no_harm_takes_no_decision() -> None:
    found = figures(iterations_of((80, 1.0, 0)), LOG[:4], PHASES, best_s=None)
    assert found.decisions == 0
    assert found.switch_ratio is None
    assert found.untouched_s == found.tuned_s == 1.0


def test_loads_are_compared_at_rest() -> None:
    found = figures([*TRAINED, *BACK], LOG, PHASES, best_s=None)
    assert found.load_ratio == load_ratio(LOG[-5:]) == 1.0
    # 3 sent and 3 received; the first sends half of it in three windows of five.
    assert load_ratio(LOG[3:8]) == pytest.approx((30.0 - 3 * 0.5) / (30.0 - 3 * 1.5))


def test_calm_is_counted_from_the_last_new_plan() -> None:
    assert since_new_plan(LOG) == (14, 5)
    assert since_new_plan(LOG[:4]) == (4, 4)
    assert since_new_plan([]) == (0, 0)


def test_without_iterations_there_is_no_time() -> None:
    found = figures([], [], PHASES, best_s=None)
    assert math.isnan(found.before_s)
    assert found.decisions is None
