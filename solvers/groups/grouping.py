"""Groupings as arrays of labels, and the numbers and sizes of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
# (N,) the group of each host, 0 ... k-1; -1 for a host that fits nowhere.
Labels = npt.NDArray[np.int64]

ALONE = -1


def choose_group_count(hosts: int) -> int:
    """Return the number of groups with the fewest messages, about sqrt(N) (Luo 2020, eq. 4.2)."""
    return max(1, min(hosts, round(math.sqrt(hosts))))


def estimate_messages(hosts: int, groups: int) -> float:
    """Return a global master's number of messages with N hosts in k groups: N / k + k (eq. 4.2)."""
    return hosts / groups + groups


def list_members(labels: Labels) -> list[list[int]]:
    """Return the indices of each group's hosts, for the groups 0 to k - 1."""
    return [np.flatnonzero(labels == group).tolist() for group in range(int(labels.max()) + 1)]


def renumber(labels: Sequence[int] | Labels) -> Labels:
    """Return the same groups, numbered in the order of their first hosts; `ALONE` stays."""
    names: dict[int, int] = {ALONE: ALONE}
    for label in labels:
        names.setdefault(int(label), len(names) - 1)
    return np.array([names[int(label)] for label in labels], dtype=np.int64)


def separate_alone(labels: Labels) -> Labels:
    """Return the same groups, followed by one group for each host that is `ALONE`."""
    alone = np.flatnonzero(labels == ALONE)
    separate = labels.copy()
    separate[alone] = int(labels.max(initial=ALONE)) + 1 + np.arange(len(alone))
    return separate


def check_distances(distance: Matrix) -> None:
    """Raise ValueError unless a matrix is square, finite, not negative, symmetric, diagonal 0.

    Raises:
        ValueError: not square, not symmetric, negative, not finite, or without a zero diagonal.
    """
    if distance.ndim != 2 or distance.shape[0] != distance.shape[1] or not len(distance):
        raise ValueError(f"distance has shape {distance.shape}, expected a square matrix")
    if not np.isfinite(distance).all() or (distance < 0.0).any():
        raise ValueError("distances must be finite and not negative")
    if (distance != distance.T).any() or distance.diagonal().any():
        raise ValueError("distances must be symmetric, with a zero diagonal")
