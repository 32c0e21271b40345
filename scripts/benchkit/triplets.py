"""How rightly readings tell racks apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def triplets_in_order(readings: Matrix, racks: Sequence[str]) -> float:
    """The share of (observer, same-rack host, other-rack host) that the readings order rightly.

    Args:
        readings: (n, n), observer by target; the diagonal is not looked at.
        racks: the rack of each of the n hosts.

    Raises:
        ValueError: there is no such triplet: one rack, or no two hosts in any.
    """
    names = np.array(racks)
    right = total = 0
    for observer in range(len(racks)):
        near = readings[observer, (names == names[observer]) & (np.arange(len(racks)) != observer)]
        far = readings[observer, names != names[observer]]
        right += int((near[:, None] < far[None, :]).sum())
        total += near.size * far.size
    if total == 0:
        raise ValueError("no host has one neighbour in its rack and one in another")
    return right / total


def between(readings: Matrix, racks: Sequence[str], *, same: bool) -> Matrix:
    """The readings of all pairs of hosts of the same rack, or of different ones, as a vector."""
    names = np.array(racks)
    chosen = (names[:, None] == names[None, :]) == same
    np.fill_diagonal(chosen, val=False)
    vector: Matrix = readings[chosen]
    return vector
