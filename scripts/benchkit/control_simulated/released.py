"""How long after the last rank's announcement the ranks of one machine have what is released."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

import numpy as np

from benchkit.control.agreeing import Agreeing, engine_of, meet, parameters
from benchkit.control.rank import Rank
from plink.plans.forest import Forest
from plink.torch import Control

# Not counted: the name is new in the first.
WARMUPS = 5
# All but one rank announce at the beginning of a repetition, and that one when these are long done.
APART_S = 0.04


@dataclass
class Releases:
    """Of one rank, on the machine's clock, in seconds; of each repetition one.

    Args:
        called: when it announced.
        released: when its program was told.
        busy_s: processor time of the whole process from the first repetition to the last.
    """

    called: list[float] = field(default_factory=list)
    released: list[float] = field(default_factory=list)
    busy_s: float = 0.0


def late_rank(repetition: int, ranks: int) -> int:
    """Who announces last: each in turn, far from each other."""
    return (repetition * 7919) % ranks


def measured(rank: Rank, ranks: int, control: Control, repetitions: int) -> Releases:
    """By the first so many ranks; others have nothing to say.

    Args:
        rank: this one.
        ranks: how many take part.
        control: how they agree.
        repetitions: that count.
    """
    found = Releases()
    if rank.rank >= ranks:
        return found
    parents = np.array([[-1, *[0] * (ranks - 1)]], np.int32)
    forest = Forest(np.array([1.0]), parents, parents)
    engine = engine_of(rank, f"released/{ranks}/{control.mode}/{repetitions}", forest)
    released: list[float] = []
    agreeing = Agreeing(engine, forest, control, tell=lambda: released.append(time.perf_counter()))
    [lone] = parameters(1)
    meet(engine)
    begins_s = np.array([time.perf_counter() + 0.2])
    engine.allreduce(begins_s, op="max").wait()
    used_s = 0.0
    for repetition in range(WARMUPS + repetitions):
        if repetition == WARMUPS:
            used_s = _used_s()
        is_late = rank.rank == late_rank(repetition, ranks)
        at_s = float(begins_s[0]) + (2 * repetition + is_late) * APART_S
        time.sleep(max(0.0, at_s - time.perf_counter()))
        found.called.append(time.perf_counter())
        agreeing.announce(lone)
        agreeing.await_released(1)
    found.busy_s = _used_s() - used_s
    meet(engine)
    agreeing.close()
    meet(engine)
    engine.close()
    found.called = found.called[WARMUPS:]
    found.released = released[WARMUPS:]
    return found


def _used_s() -> float:
    times = os.times()
    return times.user + times.system
