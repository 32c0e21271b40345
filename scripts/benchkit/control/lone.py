"""A lone tensor: from its announcement to its release, beside an all-reduce of the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchkit.control.agreeing import Agreeing, engine_of, meet, parameters
from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.rank import Rank
from benchkit.report import Report
from plink.engine import Engine
from plink.torch import Control
from plink.training.control.requests import Request

SMALL_BYTES = 4096
BUCKET_BYTES = 25_000_000
# Not counted: the name is new in the first.
WARMUPS = 20
# All are posted at once; as many are under way at a time as an engine has by default.
BUCKETS = 8
# Between repetitions beside buckets.
PAUSE_S = 0.01
HEADER = (
    "what",
    "repetitions",
    "quarter, median, three quarters, ms",
    "over the all-reduce",
    "from the last rank's call on, ms",
    "over the all-reduce",
)
SMALL = "all-reduce of 4 KB"
ALONE = "a lone tensor"
BESIDE = "a lone tensor, beside buckets of 25 MB"
SMALL_BESIDE = "all-reduce of 4 KB by another engine, beside these buckets"
MOST = {ALONE: 1.5, BESIDE: 3.0}
IN_PYTHON = ", machines in Python"


@dataclass
class Times:
    """Of one rank, on the machine's clock, in seconds; of each repetition one.

    Args:
        called: when it began.
        ended: when it was over.
        were_busy: whether buckets were still under way then; empty where there are none.
    """

    called: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    were_busy: list[bool] = field(default_factory=list)


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure alone, and beside large buckets, native machines and those in Python."""
    rows = []
    for is_native in (True, False):
        found = crew.ask(measure_lone, effort.repetitions, is_native)
        base_s = base_last_s = 0.0
        for name in (SMALL, ALONE, BESIDE, SMALL_BESIDE):
            times = [one[name] for one in found]
            seconds, last_s = own_s(times), statistics.median(last_from_s(times))
            median_s = statistics.median(seconds)
            if name == SMALL:
                base_s, base_last_s = median_s, last_s
            over, over_last = median_s / base_s, last_s / base_last_s
            quarters = ", ".join(f"{1e3 * each:.2f}" for each in statistics.quantiles(seconds, n=4))
            label = name if is_native else f"{name}{IN_PYTHON}"
            row = (label, str(len(seconds) // crew.ranks), quarters, f"{over:.2f}")
            rows.append((*row, f"{1e3 * last_s:.2f}", f"{over_last:.2f}"))
            if name in MOST and is_native:
                report.at_most(f"{name}: over an all-reduce of 4 KB", MOST[name], over, "x")
    report.table(HEADER, rows, title="A lone tensor")


def measure_lone(rank: Rank, repetitions: int, is_native: bool) -> dict[str, Times]:
    """By what is measured."""
    engine = engine_of(rank, f"lone/{is_native}", rank.forest)
    other = engine_of(rank, f"lone/{is_native}/other", rank.forest)
    released = Released()
    control = Control(mode="tree")
    agreeing = Agreeing(engine, rank.forest, control, is_native=is_native, tell=released)
    lone, sync = parameters(2)
    small, alone, beside, small_beside = Times(), Times(), Times(), Times()
    array = np.zeros(SMALL_BYTES // 4, np.float32)
    for _ in range(WARMUPS + repetitions):
        meet(engine)
        _reduce(engine, array, small)
        meet(engine)
        _announce(agreeing, released, lone, alone)
    meet(engine)
    buckets = [np.zeros(BUCKET_BYTES // 4, np.float32) for _ in range(BUCKETS)]
    _announce(agreeing, released, sync, Times())
    works = [engine.allreduce(bucket) for bucket in buckets]
    for _ in range(WARMUPS + repetitions):
        time.sleep(PAUSE_S)
        # Ranks meet by agreeing: an all-reduce would wait for its turn behind the buckets.
        _announce(agreeing, released, sync, Times())
        _announce(agreeing, released, lone, beside)
        beside.were_busy.append(not works[-1].done())
        _announce(agreeing, released, sync, Times())
        _reduce(other, array, small_beside)
        small_beside.were_busy.append(not works[-1].done())
    for work in works:
        work.wait()
    meet(engine)
    agreeing.close()
    meet(engine)
    engine.close()
    other.close()
    return {SMALL: small, ALONE: alone, BESIDE: beside, SMALL_BESIDE: small_beside}


class Released:
    """Notes when something was released."""

    def __init__(self) -> None:
        self.at_s = 0.0

    def __call__(self) -> None:
        """Now."""
        self.at_s = time.perf_counter()


def _reduce(engine: Engine, array: NDArray[np.float32], times: Times) -> None:
    times.called.append(time.perf_counter())
    engine.allreduce(array).wait()
    times.ended.append(time.perf_counter())


def _announce(agreeing: Agreeing, released: Released, request: Request, times: Times) -> None:
    times.called.append(time.perf_counter())
    agreeing.announce(request)
    agreeing.await_released(1)
    times.ended.append(released.at_s)


def _valid_repetitions(times: Sequence[Times]) -> list[int]:
    """Repetitions that count: after the first, and while no rank had seen its last bucket end."""
    most = len(times[0].called)
    are_busy = [all(one.were_busy[i : i + 1] != [False] for one in times) for i in range(most)]
    return [i for i in range(WARMUPS, most) if are_busy[i]]


def own_s(times: Sequence[Times]) -> list[float]:
    """Of each rank and repetition, from its own call on."""
    return [one.ended[i] - one.called[i] for i in _valid_repetitions(times) for one in times]


def last_from_s(times: Sequence[Times]) -> list[float]:
    """Of each rank and repetition, from the call of the rank that called last."""
    last = {i: max(one.called[i] for one in times) for i in _valid_repetitions(times)}
    return [one.ended[i] - called_s for i, called_s in last.items() for one in times]
