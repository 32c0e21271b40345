"""A plan that a rank cannot use is refused by all, and training goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from autotune.serving import SECRET, serving, switching
from autotune.tuned_ranks import tuned_ranks
from engine.forests import stars
from engine.group import group
from plink.autotune.daemon.server import Served
from plink.autotune.ranks.rank import TunedRank
from plink.base.errors import WrongUseError
from plink.engine import Engine, Forest, Prepared
from support.running import wait_for

RANKS = 2
SIZES = (3000, 1000)
WAIT_S = 30.0
SENTENCE = "there is no memory for this plan"


class Picky:
    """An engine that refuses plans until it is told not to."""

    def __init__(self, engine: Engine) -> None:
        self.refuses = False
        self.has_refused = threading.Event()
        self._engine = engine
        self.statistics, self.allreduce = engine.statistics, engine.allreduce
        self.install = engine.install

    @property
    def next_collective(self) -> int:
        return self._engine.next_collective

    def prepare(self, forest: Forest) -> Prepared:
        if self.refuses:
            self.has_refused.set()
            raise WrongUseError(SENTENCE)
        return self._engine.prepare(forest)


def iterate(engines: Sequence[Picky], ranks: Sequence[TunedRank]) -> None:
    for size in SIZES:
        arrays = [np.full(size, rank + 1) for rank in range(RANKS)]
        works = [engine.allreduce(array) for engine, array in zip(engines, arrays, strict=True)]
        # The last to begin has nobody to wait for.
        threads = [
            threading.Thread(target=rank.after, args=(8 * size, work))
            for rank, work in zip(ranks, works, strict=True)
        ]
        for thread in threads:
            thread.start()
        for work in works:
            work.wait(WAIT_S)
        for thread in threads:
            thread.join(WAIT_S)
        assert all((array == 3).all() for array in arrays)


def test_what_one_rank_cannot_use_no_rank_takes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "plink.autotune")
    forest = stars(RANKS)
    served = {"job": Served(switching(RANKS), SECRET)}
    with serving(served, []) as port, group(forest) as made:
        engines = [Picky(engine) for engine in made.engines]
        with tuned_ranks(engines, forest, port, window_s=0.01) as ranks:
            engines[1].refuses = True
            while not engines[1].has_refused.is_set():
                iterate(engines, ranks)
            for _ in range(20):
                iterate(engines, ranks)
            assert [rank.plan_number for rank in ranks] == [0, 0]
            wait_for(lambda: SENTENCE in caplog.text)
            # It calls again, and is given the plan again.
            engines[1].refuses = False
            while not ranks[0].plan_number:
                iterate(engines, ranks)
            assert ranks[0].plan_number == ranks[1].plan_number
