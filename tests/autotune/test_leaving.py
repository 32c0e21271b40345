"""A rank that is the first to leave does not fail what the others still have to end."""

from __future__ import annotations

import threading

import numpy as np

from engine.forests import stars
from engine.group import group
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import Settings

WAIT_S = 20.0


def test_a_rank_leaves_once_the_ballot_under_way_has_ended() -> None:
    forest = stars(2)
    settings = Settings("localhost", 1)
    with group(forest) as made:
        ranks = [
            TunedRank(
                engine, rank, forest, placing=Placing(range(2)), settings=settings, secret=None
            )
            for rank, engine in enumerate(made.engines)
        ]
        arrays = [np.ones(1000), np.ones(1000)]
        works = [
            engine.allreduce(array) for engine, array in zip(made.engines, arrays, strict=True)
        ]
        for work in works:
            work.wait(WAIT_S)
        ranks[1].after(arrays[1].nbytes, works[1])

        def leave() -> None:
            ranks[1].settle()
            made.engines[1].close()

        leaver = threading.Thread(target=leave)
        leaver.start()
        # Long enough for one who does not wait.
        leaver.join(0.2)
        ranks[0].after(arrays[0].nbytes, works[0])
        ranks[0].settle()
        leaver.join(WAIT_S)
        assert not leaver.is_alive()
        # It raises where a ballot has failed.
        made.engines[0].check()
