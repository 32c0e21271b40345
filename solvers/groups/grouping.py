"""What a grouping is, and the sizes that it may have."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
# (N,) the group of each host, 0 ... k-1; -1 for a host that fits nowhere.
Labels = npt.NDArray[np.int64]

ALONE = -1


def usual_count(hosts: int) -> int:
    """k = sqrt(N), which minimises n / k + k, a global master's bytes (Luo 2020, eq. 4.2)."""
    return max(1, min(hosts, round(math.sqrt(hosts))))


def traffic(hosts: int, groups: int) -> float:
    """n / k + k: what a global master sends or receives, in messages (Luo 2020, eq. 4.2)."""
    return hosts / groups + groups


def least_size(hosts: int, groups: int, elasticity: float) -> int:
    """The least size of a group: N / k where perfectly balanced, less by the elasticity.

    Raises:
        ValueError: an elasticity outside 1 to 2, or not 1 to `hosts` groups.
    """
    if not 1.0 <= elasticity <= 2.0:
        raise ValueError(f"elasticity is {elasticity}, expected 1 to 2")
    if not 1 <= groups <= hosts:
        raise ValueError(f"{groups} groups of {hosts} hosts, expected 1 to {hosts}")
    return max(1, math.floor(hosts / groups / elasticity))


def members(labels: Labels) -> list[list[int]]:
    """The hosts of each group."""
    return [np.flatnonzero(labels == group).tolist() for group in range(int(labels.max()) + 1)]


def renumber(labels: Sequence[int] | Labels) -> Labels:
    """The same groups, numbered in the order of their first hosts; `ALONE` stays."""
    names: dict[int, int] = {ALONE: ALONE}
    for label in labels:
        names.setdefault(int(label), len(names) - 1)
    return np.array([names[int(label)] for label in labels], dtype=np.int64)


def separate_alone(labels: Labels) -> Labels:
    """The same groups, and after them a group for each host that is `ALONE`."""
    alone = np.flatnonzero(labels == ALONE)
    found = labels.copy()
    found[alone] = int(labels.max(initial=ALONE)) + 1 + np.arange(len(alone))
    return found


def check_distances(distance: Matrix) -> None:
    """Refuse what is not a matrix of distances.

    Raises:
        ValueError: not square, not symmetric, negative, not finite, or without a zero diagonal.
    """
    if distance.ndim != 2 or distance.shape[0] != distance.shape[1] or not len(distance):
        raise ValueError(f"expected a square matrix, found shape {distance.shape}")
    if not np.isfinite(distance).all() or (distance < 0.0).any():
        raise ValueError("distances must be finite and not negative")
    if (distance != distance.T).any() or distance.diagonal().any():
        raise ValueError("distances must be symmetric, with a zero diagonal")
