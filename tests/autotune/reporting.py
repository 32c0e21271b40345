"""What ranks say, made up."""

from __future__ import annotations

import numpy as np

from plink.autotune.protocol.identity import Identity, identity
from plink.autotune.protocol.messages import PEER_FIGURES, Join, Report
from plink.plans.forest import Forest


def join(rank: int, plan: Identity, ranks: int, held: Identity | None = None) -> Join:
    return Join(rank, ranks, f"host{rank}", plan, held or plan)


def report(rank: int, plan: Identity, ranks: int, begin: int = 0, **changes: object) -> Report:
    """A report of two iterations of half a second; rank r sends peer p 100 r + p bytes in all."""
    peers = {name: np.zeros(ranks) for name in PEER_FIGURES}
    peers["sent_bytes"] = 100.0 * rank + np.arange(ranks)
    peers["sent_bytes"][rank] = 0.0
    values = {
        "plan": plan,
        "begin": begin,
        "end": begin + 10,
        "seconds": 1.0,
        "iteration_s": np.array([0.5, 0.5]),
        "reduced_bytes": 2000,
        "peers": peers,
    }
    return Report(**{**values, **changes})  # type: ignore[arg-type]


def first(forest: Forest) -> Identity:
    return identity(0, forest)
