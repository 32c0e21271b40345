"""Iterations are told from the steps of optimizers, however many there are."""

from __future__ import annotations

import pytest

from autotune.alone import Alone, Listening, Pending
from engine.forests import stars
from plink.autotune.protocol.messages import Report
from plink.autotune.ranks.agreement import Stride
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import Settings
from plink.training.iterations import LEAST_PERIODS
from plink.training.markers import MOST_OPTIMIZERS, Habit, Marks

TIMES = LEAST_PERIODS + 1
# In a program's first window.
FIRST = 2 * TIMES


def test_what_the_program_marks_counts_alone() -> None:
    marks = Marks()
    for second in range(2 * TIMES):
        marks.step(1, float(second), second + 1)
    assert marks.are_enough
    marks.mark(0.5)
    assert marks.times_s == [0.5]
    assert not marks.are_enough
    marks.mark(1.5)
    assert marks.times_s == [0.5, 1.5]
    # In a window without a mark, too.
    later = Marks(marks.habit)
    for second in range(2 * TIMES):
        later.step(1, float(second), second + 1)
    assert later.times_s == []
    assert later.are_to_come
    assert later.count_alone
    assert not later.habit.is_marked


def test_an_iteration_goes_from_step_to_step() -> None:
    marks = Marks()
    assert not marks.are_to_come
    for second in range(FIRST):
        assert not marks.times_s
        marks.step(1, float(second), 5 * second + 5)
    assert marks.are_to_come
    assert marks.times_s == [float(second) for second in range(FIRST)]
    later = Marks(marks.habit)
    for second in range(TIMES):
        assert not later.are_enough
        later.step(1, float(second), 5 * second + 5)
    assert later.are_enough


def test_of_several_optimizers_the_one_that_steps_least_counts() -> None:
    marks = Marks()
    begun = 0
    for iteration in range(4 * TIMES):
        for critic in range(5):
            begun += 2
            marks.step(1, iteration + critic / 10, begun)
        begun += 2
        marks.step(2, iteration + 0.9, begun)
    # Once is no iteration.
    marks.step(3, 99.0, begun)
    assert marks.times_s == [iteration + 0.9 for iteration in range(4 * TIMES)]


def test_steps_between_which_nothing_is_reduced_are_one_iteration() -> None:
    marks = Marks()
    for step in range(8 * (FIRST + 1)):
        marks.step(1, float(step), 3 * (step // 8))
    assert marks.times_s == [8.0 * averaging for averaging in range(1, FIRST + 1)]


def test_an_optimizer_for_each_parameter_takes_no_more_memory() -> None:
    marks = Marks()
    for iteration in range(FIRST):
        for parameter in range(100 * MOST_OPTIMIZERS):
            marks.step(parameter, iteration + parameter / 1e6, iteration + 1)
    assert marks.times_s == [float(iteration) for iteration in range(FIRST)]
    assert len(marks._stepped_s) == MOST_OPTIMIZERS


CRITIC, GENERATOR, AVERAGE = 1, 2, 3
SIZE_BYTES = 8


def adversarial(marks: Marks, iterations: int, critic_steps: int = 5) -> None:
    """An iteration a second, with some steps of a critic and then one of a generator."""
    begun = 0
    for iteration in range(iterations):
        for step in range(critic_steps):
            begun += 1
            marks.step(CRITIC, iteration + step / (2 * critic_steps), begun)
        begun += 1
        marks.step(GENERATOR, iteration + 0.9, begun)


def test_an_optimizer_that_comes_later_in_an_iteration_is_waited_for() -> None:
    marks = Marks()
    for step in range(5):
        marks.step(CRITIC, float(step), step + 1)
        assert not marks.are_enough
        assert marks.habit == Habit()


@pytest.mark.parametrize("iterations", range(1, 2 * TIMES))
def test_windows_count_in_the_same_iterations_however_long_these_take(iterations: int) -> None:
    first = Marks()
    adversarial(first, iterations)
    assert first.are_enough == (iterations >= TIMES)
    before = Marks()
    adversarial(before, TIMES)
    assert before.habit == Habit(optimizer=GENERATOR)
    later = Marks(before.habit)
    adversarial(later, iterations)
    assert later.times_s == [iteration + 0.9 for iteration in range(iterations)]
    assert later.are_enough == (iterations >= TIMES)
    assert later.habit == before.habit


def test_an_optimizer_that_hardly_ever_steps_is_not_waited_for() -> None:
    marks = Marks()
    adversarial(marks, TIMES, critic_steps=100)
    adversarial(seldom := Marks(), TIMES - 1, critic_steps=100)
    assert marks.habit == Habit(optimizer=GENERATOR)
    assert seldom.habit == Habit(optimizer=CRITIC)
    # Once chosen it stays.
    adversarial(later := Marks(seldom.habit), TIMES, critic_steps=100)
    assert later.habit == seldom.habit


def test_an_optimizer_that_is_gone_is_not_waited_for() -> None:
    marks = Marks(Habit(optimizer=GENERATOR))
    for step in range(100):
        assert marks.are_enough == (step >= 64)
        marks.step(CRITIC, float(step), step + 1)
    assert marks.habit == Habit(optimizer=CRITIC)


def test_steps_too_few_to_tell_leave_iterations_to_the_sizes_of_collectives() -> None:
    marks = Marks()
    marks.step(1, 0.0, 1)
    assert marks.are_to_come
    assert marks.times_s == []
    assert not marks.count_alone
    assert marks.habit == Habit()


def test_all_windows_of_a_rank_report_the_same_iterations() -> None:
    # However short, so that a window would be over before the generator has stepped.
    settings = Settings("", 0, stride=Stride(1 << 40, 1), window_s=1e-9)
    rank = TunedRank(
        Alone(ending=1 << 20),
        0,
        stars(2),
        placing=Placing(range(2)),
        settings=settings,
        secret=None,
    )
    rank._client = listening = Listening()

    def step(optimizer: int) -> None:
        rank.after(SIZE_BYTES, Pending(has_ended=True))  # type: ignore[arg-type]
        rank.step(optimizer)

    for iteration in range(20 * TIMES):
        for _ in range(5):
            step(CRITIC)
        step(GENERATOR)
        if iteration % 7 == 0:
            step(AVERAGE)
    reports = [one for one in listening.heard if isinstance(one, Report)]
    assert len(reports) > 10
    for report in reports[1:]:
        assert len(report.iteration_s) == LEAST_PERIODS
        assert report.reduced_bytes >= LEAST_PERIODS * 6 * SIZE_BYTES
    rank.close()
