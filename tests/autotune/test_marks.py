"""Iterations are told from the steps of optimizers, however many there are."""

from __future__ import annotations

from plink.autotune.ranks.iterations import LEAST_PERIODS
from plink.autotune.ranks.marks import MOST_OPTIMIZERS, Marks

TIMES = LEAST_PERIODS + 1


def test_what_the_program_marks_counts_alone() -> None:
    marks = Marks()
    for second in range(2 * TIMES):
        marks.step(1, float(second), second + 1)
    marks.mark(0.5)
    assert marks.times_s == [float(second) for second in range(2 * TIMES)]
    marks.mark(1.5)
    assert marks.times_s == [0.5, 1.5]


def test_an_iteration_goes_from_step_to_step() -> None:
    marks = Marks()
    assert not marks.has_any
    for second in range(TIMES):
        assert not marks.times_s
        marks.step(1, float(second), 5 * second + 5)
    assert marks.has_any
    assert marks.times_s == [float(second) for second in range(TIMES)]


def test_of_several_optimizers_the_one_that_steps_least_counts() -> None:
    marks = Marks()
    begun = 0
    for iteration in range(TIMES):
        for critic in range(5):
            begun += 2
            marks.step(1, iteration + critic / 10, begun)
        begun += 2
        marks.step(2, iteration + 0.9, begun)
    # Once is no iteration.
    marks.step(3, 99.0, begun)
    assert marks.times_s == [iteration + 0.9 for iteration in range(TIMES)]


def test_steps_between_which_nothing_is_reduced_are_one_iteration() -> None:
    marks = Marks()
    for step in range(8 * (TIMES + 1)):
        marks.step(1, float(step), 3 * (step // 8))
    assert marks.times_s == [8.0 * averaging for averaging in range(1, TIMES + 1)]


def test_an_optimizer_for_each_parameter_takes_no_more_memory() -> None:
    marks = Marks()
    for iteration in range(TIMES):
        for parameter in range(100 * MOST_OPTIMIZERS):
            marks.step(parameter, iteration + parameter / 1e6, iteration + 1)
    assert marks.times_s == [float(iteration) for iteration in range(TIMES)]
    assert len(marks._stepped_s) == MOST_OPTIMIZERS
