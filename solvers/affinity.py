"""Physical-affinity inference accuracy (PAIA): does a matrix order hosts as they stand?

Luo 2020, §6.2.5.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Affinity:
    """Numbers of comparable host triplets, and of those that the matrix orders correctly."""

    right: int
    triplets: int

    @property
    def accuracy(self) -> float:
        """PAIA: share of triplets that are ordered correctly; NaN without triplets."""
        return self.right / self.triplets if self.triplets else float("nan")


def affinity(distance: Matrix, positions: Sequence[Sequence[Hashable]]) -> Affinity:
    """Return the PAIA of measured distances, given the hosts' true positions.

    A host's position is a tuple from the widest to the narrowest, as (region, datacenter, cluster,
    row, rack, host). Hosts a and b are comparable to an observer c if their longest common
    prefixes with c differ in length; the one with the longer is truly nearer. The matrix is right
    if it says so strictly: equal readings are wrong. A triplet is (a, b, c) with a and b in either
    order, so each counts once. Triplets with a pair that was not measured do not count.

    Args:
        distance: (N, N), [c][a] is what c measured of a; NaN where not measured.
        positions: positions of the N hosts.

    Raises:
        ValueError: shapes that do not fit.
    """
    size = len(positions)
    if distance.shape != (size, size):
        raise ValueError(f"expected {size} x {size} distances, found shape {distance.shape}")
    shared = common_prefixes(positions)
    others = np.arange(size)
    right = triplets = 0
    for observer in range(size):
        usable = (others != observer) & np.isfinite(distance[observer])
        readings, prefixes = distance[observer, usable], shared[observer, usable]
        farther = np.empty(0)
        # From the shortest prefix on: all that came before are farther away than what comes.
        for length in np.unique(prefixes):
            nearer = np.sort(readings[prefixes == length])
            right += int(np.searchsorted(nearer, farther, side="left").sum())
            triplets += nearer.size * farther.size
            farther = np.concatenate([farther, nearer])
    return Affinity(right, triplets)


def common_prefixes(positions: Sequence[Sequence[Hashable]]) -> npt.NDArray[np.int64]:
    """Return the length of the common prefix of each pair of positions, (N, N)."""
    size = len(positions)
    depth = max((len(position) for position in positions), default=0)
    lengths = np.zeros((size, size), dtype=np.int64)
    for level in range(1, depth + 1):
        codes: dict[tuple[Hashable, ...], int] = {}
        # A position that has ended shares nothing more, not even with itself.
        place = np.array(
            [
                codes.setdefault(tuple(position[:level]), len(codes))
                if len(position) >= level
                else -1 - host
                for host, position in enumerate(positions)
            ]
        )
        lengths += place[:, None] == place[None, :]
    return lengths
