"""Forest of a plan: routes, each with a weight, a reduction tree and a broadcast tree."""

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
    """Forest of R weighted routes over P ranks, which share a buffer's chunks by weight.

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
        """Number of routes of the forest."""
        return len(self.weights)

    @property
    def ranks(self) -> int:
        """Number of ranks that the forest spans."""
        return int(self.reduce_parents.shape[1])

    @property
    def shares(self) -> Weights:
        """Share of the buffer that each route carries, shape (R,)."""
        shares: Weights = self.weights / self.weights.sum()
        return shares


def make_forest(
    weights: npt.ArrayLike, reduce_parents: npt.ArrayLike, broadcast_parents: npt.ArrayLike
) -> Forest:
    """Return a forest from array-likes, not yet checked (`plink.plans.check`).

    Raises:
        ValueError: shapes that do not fit each other, no route, no rank, parents that are not
            whole numbers of 32 bits.
    """
    weight = np.ascontiguousarray(weights, dtype=np.float64)
    if weight.ndim != 1 or not len(weight):
        raise ValueError(f"weights have shape {weight.shape}, expected (R,) for at least one route")
    up, down = _parents(reduce_parents, "reduce"), _parents(broadcast_parents, "broadcast")
    if up.ndim != 2 or up.shape[0] != len(weight) or not up.shape[1]:
        raise ValueError(f"reduce_parents have shape {up.shape}, expected ({len(weight)}, ranks)")
    if down.shape != up.shape:
        raise ValueError(f"broadcast_parents have shape {down.shape}, expected {up.shape}")
    return Forest(weight, up, down)


def _parents(values: npt.ArrayLike, name: str) -> Parents:
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise ValueError(f"{name}_parents are not whole numbers")
    limits = np.iinfo(np.int32)
    if given.size and (given.min() < limits.min or given.max() > limits.max):
        raise ValueError(f"{name}_parents are beyond 32 bits")
    return np.ascontiguousarray(given, dtype=np.int32)
