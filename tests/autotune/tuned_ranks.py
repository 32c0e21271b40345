"""The ends that ranks of this process have of a daemon, each on a host of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from autotune.serving import HOST, SECRET
from plink.autotune.ranks.placing import Placing
from plink.autotune.ranks.rank import TunedRank
from plink.autotune.ranks.settings import Settings
from plink.engine import Forest


@contextlib.contextmanager
def tuned_ranks(
    engines: Sequence[Any], forest: Forest, port: int, *, window_s: float
) -> Iterator[list[TunedRank]]:
    """They call the daemon at once.

    Args:
        engines: of all ranks; of each what `plink.engine.Engine` has.
        forest: in force.
        port: of the daemon.
        window_s: as in `Settings`.
    """
    settings = Settings(HOST, port, window_s=window_s)
    with contextlib.ExitStack() as stack:
        made = []
        for rank, engine in enumerate(engines):
            one = TunedRank(
                engine,
                rank,
                forest,
                placing=Placing(range(forest.ranks)),
                settings=settings,
                secret=SECRET,
            )
            stack.callback(one.close)
            made.append(one)
        yield made
