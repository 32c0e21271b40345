"""Aggregation forests as plain arrays: weights of routes, and parents in their trees."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Parents = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


class ForestLike(Protocol):
    """Forest of R routes over P members: `Routes`, or a plan's forest."""

    @property
    def weights(self) -> Floats:
        """Weights of the routes, (R,), not negative, with a positive sum."""

    @property
    def reduce_parents(self) -> Parents:
        """Parent of every member in each reduction tree, (R, P); -1 at the root."""

    @property
    def broadcast_parents(self) -> Parents:
        """Parent of every member in each broadcast tree, (R, P); -1 at the root."""


class Routes(NamedTuple):
    """Arrays of a forest, in the order of a plan's constructor.

    Args:
        weights: (R,) positive, with the sum 1: the share of the buffer that each route carries.
        reduce_parents, broadcast_parents: (R, P) of every member, -1 at the root, -2 at members
            that a route does without (`plink.solvers.forests.servers`).
    """

    weights: Floats
    reduce_parents: Parents
    broadcast_parents: Parents

    @property
    def members(self) -> int:
        """Number of members."""
        return int(self.reduce_parents.shape[1])


def make_routes(
    weights: npt.ArrayLike, up: npt.ArrayLike, down: npt.ArrayLike | None = None
) -> Routes:
    """Return routes with weights that sum to 1; broadcast trees default to the reduction trees."""
    shares = np.array(weights, dtype=np.float64)
    reduction = np.array(up, dtype=np.int32)
    broadcast = reduction.copy() if down is None else np.array(down, dtype=np.int32)
    return Routes(shares / shares.sum(), reduction, broadcast)
