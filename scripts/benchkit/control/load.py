"""What agreeing costs rank 0, from few ranks to many."""

from __future__ import annotations

import functools
import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace

import numpy as np

from benchkit.control.agreeing import Agreeing, engine_of, meet, parameters, star
from benchkit.control.counted import Counted, Counts
from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.rank import Rank
from benchkit.report import Report
from plink.torch import Control

TENSORS = 1024
# Not counted: names are new in the first.
WARMUPS = 2
HEADER = (
    "ranks",
    "machine",
    "control of rank 0, ms of a processor",
    "messages at rank 0",
    "KB at rank 0",
    "iteration, ms",
)
LEAST_R2 = 0.99


@dataclass(frozen=True)
class Way:
    """A machine that is measured.

    Args:
        mode: of it.
        is_native: else its twin in Python.
    """

    mode: str
    is_native: bool

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.mode}, {'native' if self.is_native else 'in Python'}"


WAYS = [
    Way(mode, is_native) for is_native in (False, True) for mode in ("full", "bitvector", "tree")
]


@dataclass(frozen=True)
class Load:
    """Of one rank in an iteration.

    Args:
        busy_s: processor time that agreeing took, of rank 0.
        messages, messages_bytes: that its machine said and heard; nothing is known of a native one.
        took_s: of the iteration.
    """

    busy_s: float
    messages: float
    messages_bytes: float
    took_s: float

    def row(self) -> tuple[str, ...]:
        """In the table."""
        said = (f"{self.messages:.0f}", f"{self.messages_bytes / 1e3:.1f}")
        said = said if self.messages else ("", "")
        return (f"{1e3 * self.busy_s:.1f}", *said, f"{1e3 * self.took_s:.0f}")


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure all machines with ever more ranks."""
    found: dict[tuple[int, Way], Load] = {}

    def rows() -> Iterator[tuple[str, ...]]:
        for ranks in effort.ranks:
            for way in WAYS:
                asked = (ranks, way, effort.load_iterations, effort.seed)
                load = _median(crew.first(ranks).ask(measure_load, *asked)[0])
                found[ranks, way] = load
                yield (str(ranks), way.name, *load.row())

    report.table(HEADER, rows(), title="Load of rank 0")
    sizes = list(effort.ranks)
    full = [found[ranks, Way("full", False)].messages_bytes for ranks in sizes]
    report.at_least("full: bytes at rank 0 are linear in ranks, R2", LEAST_R2, r2(sizes, full))
    for ranks in sizes:
        for is_native in (False, True):
            full_s, bits_s, tree_s = (
                found[ranks, Way(mode, is_native)].busy_s for mode in ("full", "bitvector", "tree")
            )
            of = f"{ranks} ranks, {'native' if is_native else 'in Python'}"
            report.at_least(f"{of}: full over bitvector", 10, full_s / bits_s, "x")
            report.at_least(f"{of}: bitvector over tree", 3, bits_s / tree_s, "x")


def measure_load(rank: Rank, ranks: int, way: Way, iterations: int, seed: int) -> list[Load]:
    """Announce all tensors one by one in another order in each iteration."""
    forest = star(ranks)
    engine = engine_of(rank, f"load/{ranks}/{way}", forest)
    counts = Counts()
    # A native machine runs by itself.
    watched = None if way.is_native else functools.partial(Counted, counts=counts)
    control = Control(mode=way.mode)
    agreeing = Agreeing(engine, forest, control, is_native=way.is_native, watched=watched)
    requests = parameters(TENSORS)
    order = random.Random(f"{seed} {rank.rank}")
    loads = []
    for _ in range(WARMUPS + iterations):
        meet(engine)
        before, before_s, began_s = replace(counts), agreeing.busy_s(), time.perf_counter()
        agreeing.iterate(requests, order)
        took_s = time.perf_counter() - began_s
        meet(engine)
        since = counts - before
        loads.append(Load(agreeing.busy_s() - before_s, since.messages, since.bytes, took_s))
    agreeing.close()
    meet(engine)
    engine.close()
    return loads[WARMUPS:]


def _median(loads: Sequence[Load]) -> Load:
    return Load(*(statistics.median(each) for each in zip(*map(astuple, loads), strict=True)))


def r2(x: Sequence[float], y: Sequence[float]) -> float:
    """Of the straight line through these."""
    return float(np.corrcoef(x, y)[0, 1] ** 2) if len(x) > 2 else math.nan
