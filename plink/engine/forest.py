"""What an engine aggregates along."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import plink.engine._native as core
from plink.errors import WrongUseError


@dataclass(frozen=True)
class Forest:
    """Routes over ranks. Chunks are dealt to routes in proportion to weight.

    Args:
        weights: `[routes]`, not negative, one of them positive.
        reduce_parents: `[routes, ranks]`: to whom each rank sends its sum; -1 at the root.
        broadcast_parents: the same for the way of the result; the root must be the same rank.
    """

    weights: npt.NDArray[np.float64]
    reduce_parents: npt.NDArray[np.int32]
    broadcast_parents: npt.NDArray[np.int32]

    @property
    def ranks(self) -> int:
        """How many ranks the trees span."""
        return int(np.shape(self.reduce_parents)[-1])

    def native(self) -> core.Forest:
        """The same, checked.

        Raises:
            WrongUseError: a tree is none, or two trees of a route have different roots.
        """
        reduce, broadcast = (
            np.ascontiguousarray(parents, dtype=np.int32)
            for parents in (self.reduce_parents, self.broadcast_parents)
        )
        if reduce.ndim != 2 or broadcast.shape != reduce.shape:
            raise WrongUseError("a forest's parents are two arrays of routes by ranks")
        weights = np.asarray(self.weights, dtype=np.float64).tolist()
        try:
            return core.Forest(self.ranks, weights, reduce, broadcast)
        except ValueError as error:
            raise WrongUseError(f"the plan cannot be used: {error}") from None
