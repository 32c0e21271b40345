"""Readings of which some are hidden, and what is true of all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.registry import find
from plink.solvers.orders.latency_search import search_by_latency

Matrix = npt.NDArray[np.float64]

# The shares of pairs that are hidden.
SHARES = (0.25, 0.5, 0.75, 0.9)


def hidden(whole: Matrix, share: float, seed: int) -> Matrix:
    """The same where about so many of the pairs were measured in neither direction."""
    rng = np.random.default_rng(seed)
    size = len(whole)
    kept = np.triu(rng.random((size, size)) >= share, 1)
    pairs = np.triu_indices(size, 1)
    # Chance may leave none, or all.
    if not kept.any():
        kept[0, 1] = True
    elif size > 2 and kept[pairs].all():
        kept[0, 1] = False
    return np.where(kept | kept.T, whole, np.nan)


def lognormal(size: int, seed: int) -> Matrix:
    """Distances without any structure, no metric."""
    above = np.triu(np.random.default_rng(seed).lognormal(3.0, 1.0, (size, size)), 1)
    return above + above.T


def metric(size: int, seed: int) -> Matrix:
    """Distances between points in a plane."""
    points = 100.0 * np.random.default_rng(seed).random((size, 2))
    return np.sqrt(((points[:, None] - points[None, :]) ** 2).sum(axis=2))


def least_cost_us(algorithm: str, whole: Matrix) -> float:
    """What the cheapest order costs, all orders tried."""
    found = search_by_latency(find(algorithm).form(len(whole)), whole, time_limit_s=60.0)
    assert found.ended_by == "exact"
    return found.cost
