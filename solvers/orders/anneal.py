"""Annealing on several threads until time, steps or an interrupt end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from plink.solvers.annealing.courses import Course, course, spread
from plink.solvers.collectives.cost import Prices
from plink.solvers.collectives.form import MeshForm, RoundsForm, TreesForm
from plink.solvers.limits.deadline import Deadline
from plink.solvers.limits.progress import SearchProgress
from plink.solvers.orders.clusters import order_by_clusters
from plink.solvers.orders.solution import EndedBy

Matrix = npt.NDArray[np.float64]

_TELL_S = 0.05

# The share of the time for an order to begin with.
_START_SHARE = 0.25


class _SearchClock:
    """Clock of a search: counts steps if a number of steps was requested, else time."""

    def __init__(self, deadline: Deadline, steps: int | None) -> None:
        self.deadline = deadline
        self._limit_s = max(deadline.left_s, 1e-6)
        self._steps = steps

    def seconds(self) -> float:
        return self._limit_s - self.deadline.left_s

    def progress(self, tried: int) -> float:
        if self._steps is not None:
            return min(1.0, tried / self._steps)
        return min(1.0, self.seconds() / self._limit_s)

    def ended_by(self, tried: int) -> EndedBy | None:
        if self._steps is not None and tried >= self._steps:
            return "steps"
        return "time" if self.deadline.is_over else None


def anneal(
    form: RoundsForm | TreesForm,
    distance: Matrix,
    given: Sequence[int],
    *,
    seed: int,
    deadline: Deadline,
    threads: int,
    steps: int | None,
    on_progress: Callable[[SearchProgress], None] | None,
) -> tuple[list[int], int, EndedBy]:
    """Return the cheapest order of all threads, the number of moves, and what ended the search.

    Arguments as those of `plink.solvers.orders.latency_search.search_by_latency`, checked.
    """
    # An interrupt stops the threads, but not what comes after them.
    clock = _SearchClock(Deadline(deadline.left_s), steps)
    start = list(given)
    runs: list[_CourseThread] = []
    ended_by: EndedBy = "time"
    try:
        price = Prices(form, distance).of
        leaves = order_by_clusters(distance, clock.deadline.part(_START_SHARE))
        start = min([*_near_together(form, leaves), start], key=price)
        unit = spread(distance)
        for child in np.random.SeedSequence(seed).generate_state(threads, np.uint64):
            made = course(form, distance, start, unit, seed=int(child), deadline=clock.deadline)
            runs.append(_CourseThread(made, clock))
        ended_by = _run_all(runs, clock, on_progress)
    except TimeoutError:
        ended_by = _run_all(runs, clock, on_progress) if runs else "time"
    except KeyboardInterrupt:
        clock.deadline.stop()
        ended_by = "interrupt"
    if not runs:
        return start, 0, ended_by
    best = min(runs, key=lambda run: run.course.best_cost).course.best
    return best, sum(run.tried for run in runs), ended_by


def _near_together(form: RoundsForm | TreesForm, hosts: list[int]) -> list[list[int]]:
    """Return starting orders in which near hosts are adjacent.

    Elsewhere than in a mesh, these have numbers that are near.
    """
    if not isinstance(form, MeshForm):
        return [hosts]
    inverse = (np.argsort(sequence) for sequence in form.sequences)
    return [np.array(hosts)[places].tolist() for places in inverse]


class _CourseThread:
    """Annealing course in a thread."""

    def __init__(self, course: Course, clock: _SearchClock) -> None:
        self.course = course
        self.tried = 0
        self._clock = clock

    def until_the_end(self, after_step: Callable[[], None]) -> EndedBy:
        while True:
            self.tried += self.course.step(self._clock.progress(self.tried), self._clock.deadline)
            after_step()
            ended_by = self._clock.ended_by(self.tried)
            if ended_by is not None:
                return ended_by


def _run_all(
    runs: list[_CourseThread],
    clock: _SearchClock,
    on_progress: Callable[[SearchProgress], None] | None,
) -> EndedBy:
    told_s = 0.0

    def tell() -> None:
        nonlocal told_s
        if on_progress is not None and clock.seconds() >= told_s + _TELL_S:
            told_s = clock.seconds()
            cost = min(run.course.best_cost for run in runs)
            on_progress(SearchProgress(told_s, cost, 0.0))

    if len(runs) == 1:
        return runs[0].until_the_end(tell)
    with ThreadPoolExecutor(len(runs)) as pool:
        try:
            ends = [pool.submit(run.until_the_end, lambda: None) for run in runs]
            left: set[Future[EndedBy]] = set(ends)
            while left:
                _, left = wait(left, timeout=_TELL_S)
                tell()
            return ends[0].result()
        except BaseException:
            # The pool waits for its threads before it lets an interrupt pass.
            clock.deadline.stop()
            raise
