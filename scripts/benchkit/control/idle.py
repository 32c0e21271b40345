"""What agreeing costs while there is nothing to agree on."""

from __future__ import annotations

import functools
import random
import statistics
import time
from dataclasses import dataclass, replace

from benchkit.control.agreeing import Agreeing, engine_of, meet, parameters
from benchkit.control.counted import Counted, Counts
from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.rank import Rank
from benchkit.report import Report
from plink.torch import Control

IDLE_S = 10.0
# What follows on the last release, and what was begun before.
SETTLE_S = 0.5
TENSORS = 16
MOST_SHARE = 0.1
HEADER = (
    "mode",
    "run",
    "messages of all ranks",
    "of a core at rank 0, %",
    "of a core, the other ranks, % (median, most)",
)


@dataclass(frozen=True)
class Way:
    """How ranks agree, while they do nothing else.

    Args:
        mode: None for an engine without control.
        is_native: by native machines, where the mode has them.
        is_counted: by Python's driver, which counts messages.
    """

    mode: str | None
    is_native: bool = True
    is_counted: bool = False

    @property
    def driver(self) -> str:
        """For people."""
        if self.mode is None:
            return ""
        if self.is_counted:
            return "native machine, counted" if self.is_native else "in Python, counted"
        return "native" if self.is_native else "in Python"


WAYS = (
    Way(None),
    Way("tree"),
    Way("tree", is_counted=True),
    Way("tree", is_native=False),
    Way("bitvector"),
    Way("bitvector", is_native=False, is_counted=True),
    Way("full"),
    Way("full", is_native=False, is_counted=True),
)


@dataclass(frozen=True)
class Idle:
    """Of one rank.

    Args:
        busy_s: processor time of the whole process.
        messages: that it sent and heard; None where they are not counted.
    """

    busy_s: float
    messages: int | None


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure all of them."""
    rows = []
    alone = 0.0
    for way in WAYS:
        found = crew.ask(measure_idle, way, effort.seed)
        shares = [100.0 * one.busy_s / IDLE_S for one in found]
        counted = [one.messages for one in found if one.messages is not None]
        said = f"{sum(counted) // 2}" if counted else ""
        others = f"{statistics.median(shares[1:]):.3f}, {max(shares[1:]):.3f}"
        rows.append((way.mode or "no control", way.driver, said, f"{shares[0]:.3f}", others))
        if way.mode is None:
            alone = shares[0]
        if way == Way("tree"):
            more = shares[0] - alone
            name = "tree, idle: of a core at rank 0, beyond an engine without control"
            report.at_most(name, MOST_SHARE, max(0.0, more), "%")
        if way == Way("tree", is_counted=True):
            report.at_most(f"tree, idle for {IDLE_S:g} s: messages", 0, sum(counted))
    report.table(HEADER, rows, title="Idle")


def measure_idle(rank: Rank, way: Way, seed: int) -> Idle:
    """Agree on something, and then on nothing more."""
    forest = rank.forest
    engine = engine_of(rank, f"idle/{way}", forest)
    counts = Counts()
    agreeing = None
    if way.mode is not None:
        watched = functools.partial(Counted, counts=counts) if way.is_counted else None
        control = Control(mode=way.mode)
        agreeing = Agreeing(engine, forest, control, is_native=way.is_native, watched=watched)
        agreeing.iterate(parameters(TENSORS), random.Random(f"{seed} {rank.rank}"))
    meet(engine)
    time.sleep(SETTLE_S)
    before, before_s = replace(counts), time.process_time()
    time.sleep(IDLE_S)
    busy_s, said = time.process_time() - before_s, counts - before
    # Those that have ended earlier must not wake the others.
    time.sleep(SETTLE_S)
    meet(engine)
    if agreeing is not None:
        agreeing.close()
    meet(engine)
    engine.close()
    return Idle(busy_s, said.messages if way.is_counted else None)
