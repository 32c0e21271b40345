"""Forest of a plan: routes, each with a weight, a reduction tree and a broadcast tree of ranks."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

Weights = Annotated[
    npt.NDArray[np.float64], Meta(extra_json_schema={"items": {"type": "number", "minimum": 0}})
]
Parents = Annotated[
    npt.NDArray[np.int32],
    Meta(
        extra_json_schema={"items": {"type": "array", "items": {"type": "integer", "minimum": -2}}}
    ),
]

# The parent of a root.
NO_PARENT = -1
# The hint where a plan is for another number of ranks than there are.
OTHER_NUMBER = (
    "start as many ranks as the plan has, or make a plan for these with plink plan CLUSTER -o FILE"
)

# In place of the parent of a rank that a route does without: a server that is no part of it.
ABSENT = -2


class Forest(Struct, frozen=True, forbid_unknown_fields=True):
    """Forest of R routes (reduction and broadcast tree) over P ranks; weights share the buffer out.

    Attributes:
        weights: (R,) weight of each route, not negative, with a positive sum
        reduce_parents: (R, P) rank to which each rank sends its sum; -1 at the root
        broadcast_parents: (R, P) rank from which each rank gets the result; -1 at the same root

    Where some ranks are servers (`plink.plans.check`), -2 is at those that a route does
    without.
    """

    weights: Weights
    reduce_parents: Parents
    broadcast_parents: Parents

    @property
    def routes(self) -> int:
        """Number of routes (weighted pairs of trees) of the forest."""
        return len(self.weights)

    @property
    def ranks(self) -> int:
        """Number of ranks that the forest spans."""
        return int(self.reduce_parents.shape[1])

    @property
    def shares(self) -> Weights:
        """Share of the buffer that each route carries, (R,), with the sum 1."""
        shares: Weights = self.weights / self.weights.sum()
        return shares


def make_forest(
    weights: npt.ArrayLike, reduce_parents: npt.ArrayLike, broadcast_parents: npt.ArrayLike
) -> Forest:
    """Return a forest from array-likes, without validating it (`plink.plans.check` does)."""
    up, down = (
        np.ascontiguousarray(parents, dtype=np.int32)
        for parents in (reduce_parents, broadcast_parents)
    )
    return Forest(np.ascontiguousarray(weights, dtype=np.float64), up, down)
