"""How long after the last rank's announcement the ranks of one machine have what is released."""

from __future__ import annotations

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
    """

    called: list[float] = field(default_factory=list)
    released: list[float] = field(default_factory=list)


def late_rank(repetition: int, ranks: int) -> int:
    """Who announces last: each in turn, far from each other."""
    return (repetition * 7919) % ranks


def measure_releases(rank: Rank, ranks: int, turn: int, repetitions: int) -> Releases:
    """By the first so many ranks; others have nothing to say.

    Args:
        rank: this one.
        ranks: how many take part.
        turn: how often that has been asked before.
        repetitions: that count.
    """
    found = Releases()
    if rank.rank >= ranks:
        return found
    parents = np.array([[-1, *[0] * (ranks - 1)]], np.int32)
    forest = Forest(np.array([1.0]), parents, parents)
    engine = engine_of(rank, f"released/{ranks}/{turn}", forest)
    released: list[float] = []
    agreeing = Agreeing(
        engine, forest, Control(), tell=lambda: released.append(time.perf_counter())
    )
    [lone] = parameters(1)
    meet(engine)
    begins_s = np.array([time.perf_counter() + 0.2])
    engine.allreduce(begins_s, op="max").wait()
    for repetition in range(WARMUPS + repetitions):
        is_late = rank.rank == late_rank(repetition, ranks)
        at_s = float(begins_s[0]) + (2 * repetition + is_late) * APART_S
        time.sleep(max(0.0, at_s - time.perf_counter()))
        found.called.append(time.perf_counter())
        agreeing.announce(lone)
        agreeing.await_released(1)
    meet(engine)
    agreeing.close()
    meet(engine)
    engine.close()
    found.called = found.called[WARMUPS:]
    found.released = released[WARMUPS:]
    return found
