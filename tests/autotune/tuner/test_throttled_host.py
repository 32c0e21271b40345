"""The paper's case (Luo 2020, Fig. 6.15): a host throttled in mid-run, and restored."""

from __future__ import annotations

import numpy as np
import pytest

from plink.autotune.tuner.interface import Action, TunerOptions
from plink.autotune.tuner.masters import Masters, forest_of
from plink.plans.measures import bytes_between
from plink.simulate.jobs import CHANGE, Noise, TunedRun, run, while_changed
from plink.simulate.network import State, even

HOSTS = 8
THROTTLED = even(HOSTS).with_host(0, 0.4)
LIFTED = 40


@pytest.fixture(scope="module", params=range(4))
def tuned(request: pytest.FixtureRequest) -> TunedRun:
    usual = even(HOSTS)
    return run(usual, while_changed(usual, THROTTLED, LIFTED), 65, seed=request.param)


def best_static_s(tuned: TunedRun, state: State) -> float:
    """The best time with equal shares on all hosts but the first, by trying many shares."""
    times = []
    for share in np.linspace(0.0, 0.25, 51):
        of_hosts = np.full(HOSTS, (1.0 - share) / (HOSTS - 1))
        of_hosts[0] = share
        forest = forest_of(Masters(np.ones(1), of_hosts), tuned.tuner.layout)
        times.append(tuned.job.iteration_s(forest, state))
    return min(times)


def test_it_beats_the_untouched_plan_and_comes_near_the_best_one(tuned: TunedRun) -> None:
    untouched_s = tuned.job.iteration_s(tuned.first, THROTTLED)
    best_s = best_static_s(tuned, THROTTLED)
    after = tuned.steps[CHANGE + 10 - 1]
    assert untouched_s / after.truth_s >= 1.27
    assert after.truth_s <= 1.1 * best_s
    assert tuned.changes()[0] == (CHANGE + 2, Action.QUICKTUNE)


def test_it_comes_back_when_the_throttle_is_lifted(tuned: TunedRun) -> None:
    before_s = tuned.steps[CHANGE - 1].truth_s
    assert tuned.steps[LIFTED + 10 - 1].truth_s <= 1.05 * before_s
    between = bytes_between(tuned.steps[-1].forest, 1.0)
    loads = between.sum(axis=0) + between.sum(axis=1)
    assert loads.max() / loads.min() < 1.05


def test_nothing_is_done_in_between(tuned: TunedRun) -> None:
    early = [at for at, _ in tuned.changes() if at < CHANGE]
    late = [at for at, _ in tuned.changes() if CHANGE + 10 <= at < LIFTED or at >= LIFTED + 15]
    assert early == late == []


@pytest.mark.parametrize("seed", range(4))
def test_a_host_that_was_slow_from_the_start_is_relieved_after_ten_windows(seed: int) -> None:
    done = run(even(HOSTS), lambda _window: THROTTLED, 12, seed=seed)
    windows, action = done.changes()[0]
    assert action == Action.QUICKTUNE
    assert windows < 2 * TunerOptions().learning_windows


def test_what_it_says_names_the_host(tuned: TunedRun) -> None:
    reason = tuned.steps[CHANGE + 2].decision.reason
    assert "slow hosts: host 0 at" in reason
    assert "iterations take +1" in reason


def test_without_noise_the_best_plan_is_met() -> None:
    usual = even(HOSTS)
    quiet = Noise(0.0, 0.0, 0.0)
    done = run(usual, while_changed(usual, THROTTLED, LIFTED), 20, noise=quiet)
    assert done.steps[-1].truth_s <= 1.001 * best_static_s(done, THROTTLED)
