"""Decisions on schedules, in jobs whose networks are known."""

from __future__ import annotations

import os

import numpy as np
import pytest

from overlap.jobs import Job, network_drawn, profile_drawn
from plink.base.replacing import replace
from plink.training.overlap.candidates import Candidate, candidates, fewest_within
from plink.training.overlap.decisions import Action, Decision, PlannerOptions, Window
from plink.training.overlap.experience import in_order_of
from plink.training.overlap.heuristics import ddp, wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.planner import Planner
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import communicated_s

# 1,000 windows of ten seeds, in minutes.
_SOAKS = bool(os.environ.get("PLINK_SOAK"))


def _job(seed: int) -> Job:
    rng = np.random.default_rng(seed)
    network = network_drawn(rng)
    profile = profile_drawn(rng, network, 20)
    return Job(profile, network, Schedule(ddp(profile).cuts, 2), rng)


def _run(job: Job, planner: Planner, window: Window) -> Decision:
    decision = planner.decide(window)
    if decision.action is not Action.WAIT:
        job.schedule = replace(decision.schedule, in_flight=2)
        job.names = decision.names
    return decision


def _communicated_s(job: Job) -> float:
    return communicated_s(in_order_of(job.profile, job.names), job.schedule, job.network)


def _best_s(job: Job) -> float:
    return candidates(job.profile, job.network, 2)[0].communicated_s


@pytest.mark.parametrize("seed", range(3000, 3010 if _SOAKS else 3002))
def test_it_settles_near_the_best_and_stays(seed: int) -> None:
    job = _job(seed)
    planner = Planner(job.names, job.schedule, "ddp")
    windows = 1000 if _SOAKS else 25
    actions = [_run(job, planner, job.window()).action for _ in range(windows)]
    changes = [place for place, action in enumerate(actions) if action is not Action.WAIT]
    assert all(place < 12 for place in changes)
    assert _communicated_s(job) <= 1.08 * _best_s(job)


@pytest.mark.parametrize("seed", [4002, 4005])
def test_a_throttled_network_gets_a_new_schedule_within_three_windows(seed: int) -> None:
    job = _job(seed)
    planner = Planner(job.names, job.schedule, "ddp")
    for _ in range(12):
        _run(job, planner, job.window())
    first = job.window(throttled_from=seed % 10, by=8.0)
    is_worth_it = _communicated_s(job) > 1.06 * _best_s(job)
    actions = [_run(job, planner, window).action for window in (first, job.window(), job.window())]
    if is_worth_it:
        assert Action.INSTALL in actions
    assert _communicated_s(job) <= 1.08 * _best_s(job)


@pytest.mark.parametrize("seed", range(5000, 5040 if _SOAKS else 5002))
@pytest.mark.parametrize("share", [0.005, 0.05])
def test_what_collectives_cost_the_processor_leaves_nobody_worse_off(
    seed: int, share: float
) -> None:
    job = _job(seed)
    first = job.schedule
    job.per_collective_s = share * _communicated_s(job)

    def usual_s(schedule: Schedule, names: tuple[str, ...]) -> float:
        profile = in_order_of(job.profile, names)
        collectives = job.per_collective_s * len(schedule.cuts)
        return communicated_s(profile, schedule, job.network) + collectives

    planner = Planner(job.names, job.schedule, "ddp")
    for _ in range(14):
        _run(job, planner, job.window())
    default_s, names = usual_s(first, job.profile.names), job.profile.names
    best = candidates(job.profile, job.network, 2, per_collective_s=job.per_collective_s)
    now_s = usual_s(job.schedule, job.names)
    assert now_s <= 1.02 * default_s
    assert now_s <= 1.06 * min(usual_s(one.schedule, names) for one in best)


# Two gradients 10 ms apart: in one collective if startups are long, else in two.
PROFILE = Profile(("a", "b"), (1_000_000, 1_000_000), (0.01, 0.02))
SLOW_START = Network(0.02, 0.02, 1e-9, 1e-9)
SLOW_LINE = Network(1e-5, 1e-5, 1e-8, 1e-8)
ONE, TWO = Schedule((2,), 2), Schedule((1, 2), 2)
QUIET = PlannerOptions(learning_windows=1, trial_windows=1)


def _window(
    iteration_s: float, network: Network = SLOW_LINE, *, is_new: bool = False, plan: int = 0
) -> Window:
    return Window(iteration_s, PROFILE, network, is_network_new=is_new, plan=plan)


def _planner(schedule: Schedule = ONE) -> Planner:
    return Planner(PROFILE.names, schedule, "first", QUIET)


def test_what_promises_is_tried_and_kept() -> None:
    planner = _planner()
    decision = planner.decide(_window(0.040))
    assert decision.action is Action.INSTALL
    assert decision.schedule.cuts == (1, 2)
    assert planner.is_on_trial
    assert "kept" in planner.decide(_window(0.031)).reason
    assert not planner.is_on_trial


def test_what_is_slower_than_before_goes_back_and_is_left_alone() -> None:
    planner = _planner()
    planner.decide(_window(0.040))
    decision = planner.decide(_window(0.050))
    assert (decision.action, decision.schedule) == (Action.ROLL_BACK, ONE)
    for _ in range(20):
        assert planner.decide(_window(0.040)).action is Action.WAIT


def test_what_noise_hides_is_tried_longer_and_then_goes() -> None:
    planner = _planner()
    noisy = replace(_window(0.040), deviation=0.03)
    planner.decide(noisy)
    reasons = [planner.decide(noisy).reason for _ in range(3)]
    assert all("on trial" in reason for reason in reasons)
    assert planner.decide(noisy).action is Action.ROLL_BACK


def test_what_is_hopeless_goes_after_one_window() -> None:
    options = PlannerOptions(learning_windows=1, trial_windows=3)
    planner = Planner(PROFILE.names, ONE, "first", options)
    planner.decide(_window(0.040))
    assert planner.decide(_window(0.060)).action is Action.ROLL_BACK


def test_what_keeps_neither_three_per_cent_nor_half_of_its_promise_goes() -> None:
    planner = _planner()
    assert "promises" in planner.decide(_window(0.040)).reason
    # As fast as before, with one collective more.
    decision = planner.decide(_window(0.0396))
    assert (decision.action, decision.schedule) == (Action.ROLL_BACK, ONE)


def test_small_promises_are_left_alone() -> None:
    planner = _planner()
    assert "too little" in planner.decide(_window(1.0)).reason
    assert "nothing has moved" in planner.decide(_window(1.0)).reason


def test_a_broken_promise_makes_the_next_promise_more() -> None:
    planner = _planner()
    assert planner.decide(_window(0.100)).action is Action.INSTALL
    assert planner.decide(_window(0.100)).action is Action.ROLL_BACK
    # Of another network: two collectives promise 5 %, enough for a first promise, not now.
    network = Network(0.0, 1e-5, 5e-9, 5e-9)
    planner.decide(_window(0.1, network, is_new=True))
    assert "too little" in planner.decide(_window(0.1, network)).reason


def test_nothing_is_decided_while_the_plan_is_on_trial() -> None:
    planner = _planner()
    frozen = replace(_window(0.040), is_frozen=True)
    for _ in range(5):
        assert planner.decide(frozen).action is Action.WAIT
    assert planner.decide(_window(0.040)).action is Action.INSTALL


def test_another_plan_makes_a_trial_void() -> None:
    planner = _planner()
    planner.decide(_window(0.040))
    assert "another plan" in planner.decide(_window(0.9, plan=1)).reason
    assert not planner.is_on_trial


def test_a_window_of_two_networks_is_no_baseline() -> None:
    planner = _planner(TWO)
    assert planner.decide(_window(0.031)).action is Action.WAIT
    mixed = _window(0.05, SLOW_START, is_new=True)
    assert "network has changed" in planner.decide(mixed).reason
    # New again: the window before was the mixed one.
    decision = planner.decide(_window(0.1, SLOW_START, is_new=True))
    assert (decision.action, decision.schedule.cuts) == (Action.INSTALL, (2,))


def test_without_knowing_the_network_nothing_is_planned() -> None:
    planner = _planner()
    unknown = replace(_window(0.040), has_network=False)
    assert "told apart" in planner.decide(unknown).reason


@pytest.mark.parametrize("wanted", ["asc", "mg-wfbp", "optimal"])
def test_what_is_asked_for_is_installed_without_a_promise(wanted: str) -> None:
    options = PlannerOptions(wanted=wanted, learning_windows=1)
    planner = Planner(PROFILE.names, ONE, "first", options)
    decision = planner.decide(_window(10.0))
    assert (decision.action, decision.name) == (Action.INSTALL, wanted)
    assert not planner.is_on_trial


def test_in_a_pool_each_waits_for_those_before_it() -> None:
    profile = Profile(("a", "b", "c"), (1, 2, 3), (0.1, 0.2, 0.3))
    found = in_order_of(profile, ["b", "c", "a"])
    assert found == Profile(("b", "c", "a"), (2, 3, 1), (0.2, 0.3, 0.3))


def test_the_best_comes_first() -> None:
    rng = np.random.default_rng(1)
    network = network_drawn(rng)
    profile = profile_drawn(rng, network, 20)
    found = candidates(profile, network, 2)
    assert found[0].communicated_s <= communicated_s(
        profile, Schedule(wfbp(profile).cuts, 2), network
    )
    assert [one.communicated_s for one in found] == sorted(one.communicated_s for one in found)
    assert len({one.name for one in found}) == len(found) == 19


def test_of_schedules_that_end_nearly_alike_the_one_with_fewest_collectives_is_taken() -> None:
    ends_s = {(1, 2, 3, 4): 1.000, (2, 4): 1.004, (4,): 1.2}
    found = [Candidate(str(cuts), Schedule(cuts, 2), at_s) for cuts, at_s in ends_s.items()]
    assert fewest_within(found, 0.0) is found[0]
    assert fewest_within(found, 0.01) is found[1]
    assert fewest_within(found, 0.5) is found[2]


def test_one_window_of_other_work_moves_nothing() -> None:
    planner = _planner()
    planner.decide(_window(0.040))
    assert "kept" in planner.decide(_window(0.031)).reason
    assert "too little" in planner.decide(_window(0.031)).reason
    slower = Network(1e-5, 1e-5, 1.15e-8, 1.15e-8)
    for _ in range(3):
        assert planner.decide(_window(0.034, slower)).reason == "nothing has moved for long"
        assert planner.decide(_window(0.031)).reason == "nothing has moved"
    planner.decide(_window(0.034, slower))
    assert "too little" in planner.decide(_window(0.034, slower)).reason
