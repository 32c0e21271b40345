"""Rounds of a peer table and of a form, from arrays of ranks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.collectives.form import WeightedRound
from solvers.collectives.table import Ranks, Round


def send(sources: Ranks, destinations: Ranks, size_bytes: float | npt.ArrayLike) -> Round:
    """Every source sends to the destination at the same place: (F,) each.

    Args:
        sources: (F,) ranks.
        destinations: (F,) ranks.
        size_bytes: what each sends, or (F,) values.
    """
    sizes = np.broadcast_to(np.asarray(size_bytes, dtype=np.float64), sources.shape)
    return Round(sources, destinations, sizes)


def exchange(low: Ranks, high: Ranks, size_bytes: float) -> Round:
    """The ranks of each pair send to each other; (F,) each."""
    return send(np.concatenate([low, high]), np.concatenate([high, low]), size_bytes)


def together(*rounds: Round) -> Round:
    """What several rounds do, at the same time."""
    return Round(
        np.concatenate([step.sources for step in rounds]),
        np.concatenate([step.destinations for step in rounds]),
        np.concatenate([step.sizes_bytes for step in rounds]),
    )


def weighted(low: Ranks, high: Ranks, weight: float = 1.0) -> WeightedRound:
    """A round of a form, of the edges between ranks at the same place: (E,) each."""
    return WeightedRound(np.stack([low, high], axis=1), weight)


def power_below(ranks: int, base: int = 2) -> int:
    """The greatest power of `base` that is not above `ranks`."""
    power = 1
    while power * base <= ranks:
        power *= base
    return power


def pairs_at(ranks: int, distance: int) -> tuple[Ranks, Ranks]:
    """The pairs of ranks (r, r xor distance): the lower ranks and the higher, (N / 2,) each.

    Args:
        ranks: a multiple of twice the distance.
        distance: a power of two.
    """
    every = np.arange(ranks)
    low = every[every & distance == 0]
    return low, low | distance
