"""What else happens to networks: uplinks, single flows, processors, drift, flapping, nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from plink.autotune.tuner.interface import Action
from plink.base.replacing import replace
from plink.simulate.jobs import CHANGE, Noise, TunedRun, run, while_changed
from plink.simulate.network import State, even

RACKS = even(16, groups=4, uplink=2.0)
FLAT = even(8)
LIFTED = 40


def gain(done: TunedRun, changed: State) -> float:
    """Over the untouched plan, ten decisions after the change."""
    return done.job.iteration_s(done.first, changed) / done.steps[CHANGE + 9].truth_s


@pytest.mark.parametrize(
    ("state", "seed"),
    [(FLAT, 0), (even(4), 1), (RACKS, 2)],
)
def test_noise_changes_nothing(state: State, seed: int) -> None:
    """Ten minutes of windows of five seconds."""
    done = run(state, lambda _: state, 120, seed=seed)
    assert done.changes() == []


def test_a_pause_changes_nothing() -> None:
    """All iterations of one window are slow, as when a checkpoint is written."""
    done = run(FLAT, lambda at: FLAT.with_all(0.3) if at == CHANGE else FLAT, 40)
    assert done.changes() == []


def test_a_network_that_is_slower_everywhere_keeps_its_plan() -> None:
    slower = FLAT.with_all(0.5)
    done = run(FLAT, while_changed(FLAT, slower, LIFTED), 60)
    assert done.changes() == []


def test_a_throttled_host_in_a_rack_is_relieved() -> None:
    slow = RACKS.with_host(5, 0.4)
    done = run(RACKS, while_changed(RACKS, slow, LIFTED), 75, seed=1)
    assert gain(done, slow) >= 1.5
    assert done.steps[-1].truth_s <= 1.05 * done.steps[CHANGE - 1].truth_s


def test_a_throttled_uplink_loses_its_global_masters() -> None:
    slow = RACKS.with_uplink(2, 0.2)
    done = run(RACKS, while_changed(RACKS, slow, LIFTED), 60, seed=2)
    assert "slow uplinks: group 2:" in done.steps[CHANGE + 2].decision.reason
    assert gain(done, slow) >= 1.3
    assert done.steps[-1].truth_s <= 1.05 * done.steps[CHANGE - 1].truth_s


def test_a_slow_flow_is_told_from_a_slow_host() -> None:
    slow = replace(FLAT, flows_bytes_s={(2, 5): 1e7})
    done = run(FLAT, while_changed(FLAT, slow, LIFTED), 30, seed=3)
    [(at, action)] = done.changes()
    decision = done.steps[at].decision
    assert (at, action) == (CHANGE + 2, Action.QUICKTUNE)
    assert "slow whose hosts are not (host 2 to host 5," in decision.reason
    assert list(decision.hosts) == [2, 5]
    assert gain(done, slow) >= 5.0


def test_a_slow_flow_that_no_shares_avoid_is_to_be_probed() -> None:
    slow = replace(RACKS, flows_bytes_s={(0, 1): 1e7})
    done = run(RACKS, while_changed(RACKS, slow, LIFTED), 20)
    asked = [each.decision for each in done.steps if each.decision.action is Action.REPROBE]
    assert [list(decision.hosts) for decision in asked] == [[0, 1]]


def test_a_busy_processor_is_relieved() -> None:
    """It takes what is sent to it slowly, and sends as fast as ever."""
    slow = replace(FLAT, adding_bytes_s={3: 0.4 * float(FLAT.hosts_bytes_s[0])})
    done = run(FLAT, while_changed(FLAT, slow, LIFTED), 30, seed=4)
    assert gain(done, slow) >= 1.5


def test_a_competing_flow_is_evaded() -> None:
    """It takes half of two hosts' links, and comes and goes from window to window a little."""

    def at(number: int) -> State:
        left = 0.5 if number % 2 else 0.55
        return FLAT.with_host(1, left).with_host(6, left) if number >= CHANGE else FLAT

    states = [at(CHANGE), at(CHANGE + 1)]
    done = run(FLAT, lambda number: FLAT if number < CHANGE else states[number % 2], 40, seed=5)
    assert gain(done, states[1]) >= 1.3
    assert len(done.changes()) <= 3


def test_a_slow_drift_is_followed() -> None:
    """Two hundredths a window, down to 40 %."""
    factors = [max(0.4, 1.0 - 0.02 * max(0, at - CHANGE)) for at in range(60)]
    states = {factor: FLAT.with_host(0, factor) for factor in factors}
    done = run(FLAT, lambda at: states[factors[at]], 60, seed=6)
    untouched_s = done.job.iteration_s(done.first, states[0.4])
    assert untouched_s / done.steps[-1].truth_s >= 1.5
    assert len(done.changes()) <= 6


def test_a_host_that_goes_up_and_down_is_left_at_its_lowest() -> None:
    """Every minute, for a quarter of an hour."""
    slow = FLAT.with_host(0, 0.4)
    done = run(FLAT, lambda at: slow if at // 12 % 2 else FLAT, 180)
    assert len(done.changes()) <= 9
    tenth_minute = [at for at, _ in done.changes() if 60 <= at < 130]
    assert tenth_minute == []


def test_a_plan_that_fails_is_rolled_back_and_left_alone() -> None:
    """A network that punishes what readings suggest: less on host 0 makes its link worse."""
    slow = FLAT.with_host(0, 0.5)
    worse = FLAT.with_host(0, 0.2)
    first: list[int] = []

    def at(number: int) -> State:
        return FLAT if number < CHANGE else slow if not first else worse

    done = run_watching(at, first)
    actions = [action for _, action in done.changes()]
    assert actions[:2] == [Action.QUICKTUNE, Action.ROLL_BACK]
    rolled_back = done.changes()[1][0]
    soon = [at for at, _ in done.changes() if rolled_back < at < rolled_back + 20]
    assert soon == []


def run_watching(at: Callable[[int], State], first: list[int]) -> TunedRun:
    """A run in which `first` gets what window it is as long as a new plan is in force."""
    from plink.autotune.tuner.tuner import Tuner
    from plink.simulate.jobs import Job, Step, first_forest

    forest = start = first_forest(FLAT)
    job = Job(noise=Noise(0.01, 0.02, 0.0))
    tuner = Tuner(start, range(8), [0] * 8, job.size_bytes)
    steps = []
    for number in range(45):
        first[:] = [number] if forest is not start and tuner.masters is not tuner.home else []
        now = at(number)
        decision = tuner.decide(5.0 * number, job.window(tuner.plan, forest, now))
        forest = forest if decision.forest is None else decision.forest
        steps.append(Step(decision, job.iteration_s(forest, now), forest))
    return TunedRun(steps, job, tuner, start)
