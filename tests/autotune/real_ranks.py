"""Ranks with real engines that train in threads of this process, tuned by a daemon."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from autotune.tuned_ranks import tuned_ranks
from engine.group import group
from plink.autotune.ranks.rank import TunedRank
from plink.engine import Engine
from plink.plans.forest import Forest

SIZE = 1000


@dataclass
class Training:
    """What runs.

    Args:
        iterations: how many each rank has done, every sum of them right.
        plans: the number of the plan in force on each.
        wrong: what went wrong.
    """

    iterations: list[int]
    plans: list[int]
    wrong: list[BaseException] = field(default_factory=list)


@contextlib.contextmanager
def training(forest: Forest, port: int) -> Iterator[Training]:
    """Ranks that train until the block is left; they all end after the same iteration."""
    ranks = forest.ranks
    state = Training([0] * ranks, [0] * ranks)
    is_over = threading.Event()

    def train(engine: Engine, tuned: TunedRank, rank: int) -> None:
        go_on = np.ones(1, dtype=np.int64)
        while go_on.item():
            values = np.arange(SIZE, dtype=np.int64) * (rank + 1)
            work = engine.allreduce(values)
            work.wait()
            tuned.after(values.nbytes, work)
            assert (values == np.arange(SIZE) * (ranks * (ranks + 1) // 2)).all()
            go_on[:] = not is_over.is_set()
            work = engine.allreduce(go_on, "min")
            work.wait()
            tuned.after(go_on.nbytes, work)
            tuned.mark()
            state.iterations[rank] += 1
            state.plans[rank] = tuned.plan_number

    def run(engine: Engine, tuned: TunedRank, rank: int) -> None:
        try:
            train(engine, tuned, rank)
        except BaseException as error:
            state.wrong.append(error)

    with (
        group(forest) as engines,
        tuned_ranks(engines.engines, forest, port, window_s=0.02) as tuned,
    ):
        threads = _started(engines.engines, tuned, run)
        try:
            yield state
        finally:
            is_over.set()
            for thread in threads:
                thread.join(30.0)
    assert state.wrong == []


def _started(
    engines: Sequence[Engine], tuned: Sequence[TunedRank], run: object
) -> list[threading.Thread]:
    threads = [
        threading.Thread(target=run, args=(engine, one, rank))  # type: ignore[arg-type]
        for rank, (engine, one) in enumerate(zip(engines, tuned, strict=True))
    ]
    for thread in threads:
        thread.start()
    return threads
