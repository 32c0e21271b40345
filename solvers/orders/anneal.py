"""Courses of annealing, on several threads, until time, steps or an interrupt end them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from solvers.annealing.courses import Course, course, spread
from solvers.collectives.form import MeshForm, RoundsForm, TreesForm
from solvers.orders import reference
from solvers.orders.clusters import clustered
from solvers.orders.solution import EndedBy, Progress

Matrix = npt.NDArray[np.float64]

_TELL_S = 0.05


class _Clock:
    """How far a search is: by steps if so many were asked for, else by time."""

    def __init__(self, time_limit_s: float, steps: int | None) -> None:
        self._begin = time.monotonic()
        self._limit_s = time_limit_s
        self._steps = steps
        self.is_stopped = threading.Event()

    def seconds(self) -> float:
        return time.monotonic() - self._begin

    def progress(self, tried: int) -> float:
        if self._steps is not None:
            return min(1.0, tried / self._steps)
        return min(1.0, self.seconds() / self._limit_s)

    def ended_by(self, tried: int) -> EndedBy | None:
        if self._steps is not None and tried >= self._steps:
            return "steps"
        if self.seconds() >= self._limit_s:
            return "time"
        return "interrupt" if self.is_stopped.is_set() else None


def anneal(
    form: RoundsForm | TreesForm,
    distance: Matrix,
    given: Sequence[int],
    *,
    seed: int,
    time_limit_s: float,
    threads: int,
    steps: int | None,
    on_progress: Callable[[Progress], None] | None,
) -> tuple[list[int], int, EndedBy]:
    """The cheapest order of all threads, how many moves were tried, and what ended it.

    Arguments as those of `solvers.orders.latency_search.search_by_latency`, checked.
    """
    clock = _Clock(time_limit_s, steps)
    runs: list[_CourseThread] = []
    try:
        starts = [*_near_together(form, clustered(distance)), list(given)]
        start = min(starts, key=lambda order: reference.cost(form, distance, order))
        unit = spread(distance)
        for child in np.random.SeedSequence(seed).generate_state(threads, np.uint64):
            runs.append(_CourseThread(course(form, distance, start, unit, int(child)), clock))
        ended_by = _run_all(runs, clock, on_progress)
    except KeyboardInterrupt:
        clock.is_stopped.set()
        ended_by = "interrupt"
    if not runs:
        return list(given), 0, ended_by
    best = min(runs, key=lambda run: run.course.best_cost).course.best
    return best, sum(run.tried for run in runs), ended_by


def _near_together(form: RoundsForm | TreesForm, hosts: list[int]) -> list[list[int]]:
    """Orders of hosts of which near ones stand together, for ranks of which some belong together.

    Elsewhere than in a mesh, these have numbers that are near.
    """
    if not isinstance(form, MeshForm):
        return [hosts]
    inverse = (np.argsort(sequence) for sequence in form.sequences)
    return [np.array(hosts)[places].tolist() for places in inverse]


class _CourseThread:
    """One thread's course."""

    def __init__(self, course: Course, clock: _Clock) -> None:
        self.course = course
        self.tried = 0
        self._clock = clock

    def until_the_end(self, after_step: Callable[[], None]) -> EndedBy:
        while True:
            self.tried += self.course.step(self._clock.progress(self.tried))
            after_step()
            ended_by = self._clock.ended_by(self.tried)
            if ended_by is not None:
                return ended_by


def _run_all(
    runs: list[_CourseThread], clock: _Clock, on_progress: Callable[[Progress], None] | None
) -> EndedBy:
    told_s = 0.0

    def tell() -> None:
        nonlocal told_s
        if on_progress is not None and clock.seconds() >= told_s + _TELL_S:
            told_s = clock.seconds()
            cost = min(run.course.best_cost for run in runs)
            on_progress(Progress(told_s, cost, 0.0))

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
            clock.is_stopped.set()
            raise
