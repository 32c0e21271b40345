"""The tuner's parts by themselves: trigger, readings, Quicktune, Finetune, memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.autotune.tuner.bandwidth import first_belief
from plink.autotune.tuner.finetune import Move, next_move
from plink.autotune.tuner.interface import TunerOptions
from plink.autotune.tuner.masters import Layout, Masters, forest_of, host_loads
from plink.autotune.tuner.memory import Memory
from plink.autotune.tuner.quicktune import link_s, quicktune
from plink.autotune.tuner.readings import Reader, middle_mean
from plink.autotune.tuner.trigger import Baseline, is_sudden, learn, median_deviation
from plink.simulate.jobs import QUIET, Job, first_forest
from plink.simulate.network import even

OPTIONS = TunerOptions()
QUIET_BASELINE = Baseline(1.0, 0.01)
FLAT = Layout(np.arange(8), np.zeros(8, dtype=np.intp))
EVEN = Masters(np.ones(1), np.full(8, 0.125))


@pytest.mark.parametrize(
    ("medians_s", "expected"),
    [
        ([1.3, 1.3, 1.3], True),
        ([1.1, 1.1, 1.1], False),
        ([1.3, 1.3], False),
        ([1.3, 1.0, 1.3], False),
        ([0.8, 0.8, 0.8], True),
        ([0.9, 0.9, 0.9], False),
        ([1.3, 0.7, 1.3], False),
        ([1.0, 1.3, 1.3, 1.3], True),
    ],
)
def test_a_change_is_sudden_if_three_windows_agree(medians_s: list[float], expected: bool) -> None:
    assert is_sudden(QUIET_BASELINE, medians_s, OPTIONS) == expected


def test_what_is_within_the_noise_is_no_change() -> None:
    assert not is_sudden(Baseline(1.0, 0.1), [1.5] * 3, OPTIONS)
    assert is_sudden(Baseline(1.0, 0.1), [1.7] * 3, OPTIONS)


@settings(max_examples=25)
@given(st.lists(st.floats(0.9, 1.1), min_size=5, max_size=9), st.floats(2.0, 1e6))
def test_a_window_out_of_line_does_not_move_a_baseline(usual: list[float], far: float) -> None:
    baseline = learn([*usual, far])
    assert 0.9 <= baseline.median_s <= 1.1
    assert baseline.deviation <= 0.4


@pytest.mark.parametrize("count", [1, 3, 5, 9])
def test_the_deviation_of_a_median_is_as_computed(count: int) -> None:
    drawn = np.random.default_rng(count).standard_normal((200_000, count))
    assert median_deviation(count) == pytest.approx(np.median(drawn, axis=1).std(), rel=0.02)


def test_the_middle_mean_leaves_the_ends_out() -> None:
    values = np.array([[0.0, 1.0, 2.0, 100.0]])
    assert middle_mean(values, np.ones((1, 4))) == pytest.approx([1.5])
    assert middle_mean(values, np.array([[0.0, 3.0, 1.0, 0.0]])) == pytest.approx([1.0])
    assert middle_mean(values, np.zeros((1, 4))) == pytest.approx([0.0])


@pytest.mark.parametrize("groups", [1, 4])
def test_links_that_limit_are_read_as_they_are(groups: int) -> None:
    usual = even(16, groups=groups, uplink=1e9 if groups > 1 else np.inf)
    slow = usual.with_host(3, 0.3)
    layout = Layout(np.arange(16), slow.group_of)
    window = Job(noise=QUIET).window(0, first_forest(usual), slow)
    readings = Reader(window, layout).read()
    assert readings.rate_bytes_s[[3, 19]] == pytest.approx(slow.hosts_bytes_s[3], rel=0.2)
    belief = first_belief([window] * 3, layout, OPTIONS)
    slow_hosts = np.flatnonzero(
        belief.hosts_bytes_s(layout) < 0.5 * np.median(belief.hosts_bytes_s(layout))
    )
    assert slow_hosts.tolist() == [3]
    assert belief.certainty[3] >= 0.6


@settings(max_examples=15)
@given(st.lists(st.sampled_from([0.3, 0.5, 0.8, 1.0, 1.0]), min_size=8, max_size=8))
def test_no_plan_is_predicted_to_be_quicker(factors: list[float]) -> None:
    """Than Quicktune's, of the neighbours in which two hosts exchange shares."""
    state = even(8)
    for host, factor in enumerate(factors):
        state = state.with_host(host, factor)
    belief = first_belief([Job().window(0, first_forest(even(8)), even(8))] * 3, FLAT, OPTIONS)
    known = belief.__class__(np.tile(state.hosts_bytes_s, 2), belief.certainty, [], belief.readings)
    everything = np.full(8, np.inf)
    found = quicktune(known, FLAT, EVEN, OPTIONS, everything)
    best_s = link_s(found, known, FLAT, OPTIONS, everything)
    for giver in range(8):
        for taker in range(8):
            of_hosts = found.of_hosts.copy()
            moved = 0.5 * of_hosts[giver]
            of_hosts[giver] -= moved
            of_hosts[taker] += moved
            other_s = link_s(Masters(np.ones(1), of_hosts), known, FLAT, OPTIONS, everything)
            assert other_s >= best_s / 1.03


def moves(masters: Masters, slow_host: int, count: int) -> list[Move]:
    """What Finetune does by itself, step by step, about a host at 60 %."""
    state, made = even(8).with_host(slow_host, 0.6), []
    last = None
    for _ in range(count):
        window = Job(noise=QUIET).window(0, forest_of(masters, FLAT), state)
        belief = first_belief([window] * 3, FLAT, OPTIONS)
        last = next_move(masters, [window] * 3, belief, FLAT, OPTIONS, last=last)
        if last is None:
            break
        masters = last.masters
        made.append(last)
    return made


def test_finetune_moves_more_and_more_from_the_same_host() -> None:
    """Until it is as quick as the others."""
    made = moves(EVEN, 2, 2)
    assert [(move.giver, move.doublings) for move in made] == [(2, 0), (2, 1)]
    given = np.diff([0.125, *(move.masters.of_hosts[2] for move in made)])
    assert given == pytest.approx([-0.125 / 4, -0.125 / 2])


def test_finetune_comes_near_the_best() -> None:
    slow = even(8).with_host(2, 0.6)
    job = Job(noise=QUIET)
    last = moves(EVEN, 2, 8)[-1].masters
    untouched_s = job.iteration_s(forest_of(EVEN, FLAT), slow)
    assert untouched_s / job.iteration_s(forest_of(last, FLAT), slow) >= 1.25


def test_finetune_leaves_equals_and_held_hosts_alone() -> None:
    window = Job(noise=QUIET).window(0, forest_of(EVEN, FLAT), even(8))
    belief = first_belief([window] * 3, FLAT, OPTIONS)
    assert next_move(EVEN, [window] * 3, belief, FLAT, OPTIONS) is None
    window = Job(noise=QUIET).window(0, forest_of(EVEN, FLAT), even(8).with_host(2, 0.6))
    belief = first_belief([window] * 3, FLAT, OPTIONS)
    assert next_move(EVEN, [window] * 3, belief, FLAT, OPTIONS, held=[2]) is None


def test_a_failure_is_left_alone_for_longer_each_time() -> None:
    memory, rates = Memory(), np.ones(8)
    waits = []
    now_s = 0.0
    for _ in range(3):
        failure = memory.failed(now_s, EVEN, rates, FLAT, OPTIONS)
        waits.append(failure.until_s - now_s)
        assert memory.is_left_alone(now_s + 1.0, EVEN, rates, FLAT)
        assert not memory.is_left_alone(failure.until_s, EVEN, rates, FLAT)
        now_s = failure.until_s
    assert waits == [120.0, 240.0, 480.0]


def test_a_failure_counts_for_its_neighbours_and_its_network() -> None:
    memory, rates = Memory(), np.ones(8)
    memory.failed(0.0, EVEN, rates, FLAT, OPTIONS)
    far = Masters(np.ones(1), np.array([0.0, *[1.0 / 7] * 7]))
    assert not memory.is_left_alone(1.0, far, rates, FLAT)
    assert not memory.is_left_alone(1.0, EVEN, rates * [0.5, *[1.0] * 7], FLAT)


def test_a_host_that_turns_twice_is_damped_for_a_while() -> None:
    memory = Memory()
    loads = host_loads(EVEN, FLAT)
    less = loads - [1.0, *[0.0] * 7]
    for at, (before, after, rate) in enumerate(
        [(loads, less, 0.4), (less, loads, 1.0), (loads, less, 0.5)]
    ):
        assert memory.damped(60.0 * at, OPTIONS) == {}
        memory.changed(60.0 * at, before, after, np.full(8, rate), OPTIONS)
    assert memory.damped(130.0, OPTIONS) == {0: 0.4}
    assert memory.damped(800.0, OPTIONS) == {}
