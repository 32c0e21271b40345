"""What builders of forests return, and what many of them need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Parents = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Routes:
    """R routes over P members, which are hosts or ranks.

    Args:
        weights: (R,) positive, with the sum 1: the share of the buffer that each route carries.
        reduce_parents, broadcast_parents: (R, P) of every member, -1 at the root.
    """

    weights: Floats
    reduce_parents: Parents
    broadcast_parents: Parents

    @property
    def members(self) -> int:
        """How many there are."""
        return int(self.reduce_parents.shape[1])


def make_routes(
    weights: npt.ArrayLike, up: npt.ArrayLike, down: npt.ArrayLike | None = None
) -> Routes:
    """Routes with weights made to sum up to 1; the broadcast trees are the reductions' if None."""
    shares = np.array(weights, dtype=np.float64)
    reduction = np.array(up, dtype=np.int32)
    broadcast = reduction.copy() if down is None else np.array(down, dtype=np.int32)
    return Routes(shares / shares.sum(), reduction, broadcast)


def check_permutation(order: Sequence[int]) -> Indices:
    """The order as an array.

    Raises:
        ValueError: empty, or no permutation of 0 to N-1.
    """
    members = np.asarray(order, dtype=np.intp)
    if not members.size or sorted(members.tolist()) != list(range(len(members))):
        raise ValueError(f"not a permutation of 0 to {len(members) - 1}")
    return members
