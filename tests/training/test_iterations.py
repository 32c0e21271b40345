"""Iterations are told from markers, steps of optimizers, or sizes of collectives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.training.iterations import (
    LEAST_PERIODS,
    MOST_OPTIMIZERS,
    IterationSource,
    Markers,
    iteration_seconds,
    period_of,
)

TIMES = LEAST_PERIODS + 1
# In a program's first window.
FIRST = 2 * TIMES


def test_what_the_program_marks_counts_alone() -> None:
    markers = Markers()
    for second in range(2 * TIMES):
        markers.step(1, float(second), second + 1)
    assert markers.are_enough
    markers.mark(0.5)
    assert markers.times_s == [0.5]
    assert not markers.are_enough
    markers.mark(1.5)
    assert markers.times_s == [0.5, 1.5]
    # In a window without a mark, too.
    later = Markers(markers.source)
    for second in range(2 * TIMES):
        later.step(1, float(second), second + 1)
    assert later.times_s == []
    assert later.are_expected
    assert later.replace_periods
    assert not later.source.is_program


def test_an_iteration_goes_from_step_to_step() -> None:
    markers = Markers()
    assert not markers.are_expected
    for second in range(FIRST):
        assert not markers.times_s
        markers.step(1, float(second), 5 * second + 5)
    assert markers.are_expected
    assert markers.times_s == [float(second) for second in range(FIRST)]
    later = Markers(markers.source)
    for second in range(TIMES):
        assert not later.are_enough
        later.step(1, float(second), 5 * second + 5)
    assert later.are_enough


def test_of_several_optimizers_the_one_that_steps_least_counts() -> None:
    markers = Markers()
    begun = 0
    for iteration in range(4 * TIMES):
        for critic in range(5):
            begun += 2
            markers.step(1, iteration + critic / 10, begun)
        begun += 2
        markers.step(2, iteration + 0.9, begun)
    # Once is no iteration.
    markers.step(3, 99.0, begun)
    assert markers.times_s == [iteration + 0.9 for iteration in range(4 * TIMES)]


def test_steps_between_which_nothing_is_reduced_are_one_iteration() -> None:
    markers = Markers()
    for step in range(8 * (FIRST + 1)):
        markers.step(1, float(step), 3 * (step // 8))
    assert markers.times_s == [8.0 * averaging for averaging in range(1, FIRST + 1)]


def test_an_optimizer_for_each_parameter_takes_no_more_memory() -> None:
    markers = Markers()
    for iteration in range(FIRST):
        for parameter in range(100 * MOST_OPTIMIZERS):
            markers.step(parameter, iteration + parameter / 1e6, iteration + 1)
    assert markers.times_s == [float(iteration) for iteration in range(FIRST)]
    assert len(markers._stepped_s) == MOST_OPTIMIZERS


CRITIC, GENERATOR, AVERAGE = 1, 2, 3


def adversarial(markers: Markers, iterations: int, critic_steps: int = 5) -> None:
    """An iteration a second, with some steps of a critic and then one of a generator."""
    begun = 0
    for iteration in range(iterations):
        for step in range(critic_steps):
            begun += 1
            markers.step(CRITIC, iteration + step / (2 * critic_steps), begun)
        begun += 1
        markers.step(GENERATOR, iteration + 0.9, begun)


def test_an_optimizer_that_comes_later_in_an_iteration_is_waited_for() -> None:
    markers = Markers()
    for step in range(5):
        markers.step(CRITIC, float(step), step + 1)
        assert not markers.are_enough
        assert markers.source == IterationSource()


@pytest.mark.parametrize("iterations", range(1, 2 * TIMES))
def test_windows_count_in_the_same_iterations_however_long_these_take(iterations: int) -> None:
    first = Markers()
    adversarial(first, iterations)
    assert first.are_enough == (iterations >= TIMES)
    before = Markers()
    adversarial(before, TIMES)
    assert before.source == IterationSource(optimizer=GENERATOR)
    later = Markers(before.source)
    adversarial(later, iterations)
    assert later.times_s == [iteration + 0.9 for iteration in range(iterations)]
    assert later.are_enough == (iterations >= TIMES)
    assert later.source == before.source


def test_an_optimizer_that_hardly_ever_steps_is_not_waited_for() -> None:
    markers = Markers()
    adversarial(markers, TIMES, critic_steps=100)
    adversarial(seldom := Markers(), TIMES - 1, critic_steps=100)
    assert markers.source == IterationSource(optimizer=GENERATOR)
    assert seldom.source == IterationSource(optimizer=CRITIC)
    # Once chosen it stays.
    adversarial(later := Markers(seldom.source), TIMES, critic_steps=100)
    assert later.source == seldom.source


def test_an_optimizer_that_is_gone_is_not_waited_for() -> None:
    markers = Markers(IterationSource(optimizer=GENERATOR))
    for step in range(100):
        assert markers.are_enough == (step >= 64)
        markers.step(CRITIC, float(step), step + 1)
    assert markers.source == IterationSource(optimizer=CRITIC)


def test_steps_too_few_to_tell_leave_iterations_to_the_sizes_of_collectives() -> None:
    markers = Markers()
    markers.step(1, 0.0, 1)
    assert markers.are_expected
    assert markers.times_s == []
    assert not markers.replace_periods
    assert markers.source == IterationSource()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(4, 9), st.data())
def test_a_period_is_found_from_any_place_on(
    sizes: list[int], times: int, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(sizes) - 1))
    found = period_of((sizes * times)[cut:])
    assert found is not None
    shortest = next(p for p in range(1, len(sizes) + 1) if sizes[p:] + sizes[:p] == sizes)
    assert found == shortest


def test_a_collective_now_and_then_does_not_hide_the_period() -> None:
    iteration = [100, 200, 300, 50]
    assert period_of(iteration * 40 + [8] + iteration * 40) == 4


def test_sizes_that_never_come_again_have_no_period() -> None:
    assert period_of(range(100)) is None
    assert period_of([]) is None


def test_iterations_are_timed_from_a_place_to_the_same_one() -> None:
    times = [0.0, 0.1, 1.0, 1.1, 3.0, 3.1]
    assert iteration_seconds(times, [], 2) == pytest.approx([1.0, 2.0])
    assert iteration_seconds(times, [0.5, 2.0, 4.0], 2) == pytest.approx([1.5, 2.0])
    assert len(iteration_seconds(times, [], None)) == 0
