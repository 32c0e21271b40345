"""Collectives of one size, of which the engine runs one, two or four at a time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch._C._distributed_c10d import PrefixStore

from benchkit.control.crew import Crew
from benchkit.control.rank import Rank
from benchkit.report import Report
from plink.engine import C10dStore, Engine, Forest, Options

IN_FLIGHT = (1, 2, 4)
SIZES_BYTES = (4_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)
# So many are posted at once, and as many bytes at most: a burst is long enough for all of them to
# be in flight, and short beside the time that a measurement has.
BURST, BURST_BYTES, LEAST_BURST = 16, 32_000_000, 4
WARM_UPS = 1
HEADER = (
    "plan",
    "bytes",
    "one at a time, ms each (least, median, most)",
    "two, ms",
    "four, ms",
    "one / two",
    "one / four",
    "gamma of two",
    "of the links' limit: one, two, four",
)

# By plan, by bytes and how many are in flight: seconds of each repetition's whole burst.
Times = dict[str, dict[tuple[int, int], list[float]]]


@dataclass(frozen=True)
class Program:
    """What every rank does.

    Args:
        plans: by name.
        sizes_bytes: of a collective.
        repetitions: of each.
    """

    plans: Mapping[str, Forest]
    sizes_bytes: Sequence[int]
    repetitions: int


def burst_of(size_bytes: int) -> int:
    """How many collectives of this size are posted at once."""
    return max(LEAST_BURST, min(BURST, BURST_BYTES // size_bytes))


def show(crew: Crew, program: Program, limits_s: Mapping[int, float], report: Report) -> None:
    """Measure all plans, sizes and numbers in turn.

    Args:
        crew: all ranks.
        program: theirs.
        limits_s: by bytes, what no all-reduce can beat on these links; 0 where nothing limits it.
        report: that is printed.
    """
    found = crew.ask(measure_bursts, program)
    rows = []
    for plan in program.plans:
        for size_bytes in program.sizes_bytes:
            burst = burst_of(size_bytes)
            each_s = {
                number: [
                    max(of_ranks) / burst
                    for of_ranks in zip(
                        *(one[plan][size_bytes, number] for one in found), strict=True
                    )
                ]
                for number in IN_FLIGHT
            }
            rows.append(_row(plan, size_bytes, each_s, limits_s[size_bytes]))
    report.table(HEADER, rows, title="Collectives in flight")


def _row(
    plan: str, size_bytes: int, each_s: Mapping[int, Sequence[float]], limit_s: float
) -> tuple[str, ...]:
    medians_s = {number: statistics.median(seconds) for number, seconds in each_s.items()}
    one, two, four = (medians_s[number] for number in IN_FLIGHT)
    least, most = min(each_s[1]), max(each_s[1])
    shares = ", ".join(f"{limit_s / each:.2f}" for each in (one, two, four)) if limit_s else ""
    return (
        plan,
        f"{size_bytes:,}",
        f"{1e3 * least:.2f}, {1e3 * one:.2f}, {1e3 * most:.2f}",
        f"{1e3 * two:.2f}",
        f"{1e3 * four:.2f}",
        f"{one / two:.2f}",
        f"{one / four:.2f}",
        # Two at once end after twice what each takes of them.
        f"{2.0 * two / one:.2f}",
        shares,
    )


def measure_bursts(rank: Rank, program: Program) -> Times:
    """Seconds of every burst on this rank."""
    engines = {
        (plan, number): _engine(rank, f"in flight/{plan}/{number}", forest, number)
        for plan, forest in program.plans.items()
        for number in IN_FLIGHT
    }
    times: Times = {
        plan: {(size, number): [] for size in program.sizes_bytes for number in IN_FLIGHT}
        for plan in program.plans
    }
    for size_bytes in program.sizes_bytes:
        arrays = [np.ones(size_bytes // 4, np.float32) for _ in range(burst_of(size_bytes))]
        for turn in range(-WARM_UPS, program.repetitions):
            for (plan, number), engine in engines.items():
                took_s = _burst_s(engine, arrays, rank.ranks)
                if turn >= 0:
                    times[plan][size_bytes, number].append(took_s)
    for engine in engines.values():
        engine.close()
    return times


def _engine(rank: Rank, name: str, forest: Forest, in_flight: int) -> Engine:
    store = C10dStore(PrefixStore(name, rank.meeting.store))
    options = Options(addresses=(rank.seat.address,), in_flight=in_flight)
    return Engine(rank.rank, rank.ranks, store, forest, options)


def _burst_s(engine: Engine, arrays: Sequence[NDArray[Any]], ranks: int) -> float:
    for array in arrays:
        array.fill(1.0)
    engine.allreduce(np.zeros(1, np.float32)).wait()
    began_s = time.perf_counter()
    works = [engine.allreduce(array) for array in arrays]
    for work in works:
        work.wait()
    took_s = time.perf_counter() - began_s
    if any(array[0] != ranks or array[-1] != ranks for array in arrays):
        raise SystemExit("a wrong sum")
    return took_s
