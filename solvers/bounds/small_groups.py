"""Detection of small groups of hosts that are much nearer to each other than to others."""

from __future__ import annotations

import numpy as np

from plink.solvers.distances import Matrix
from plink.solvers.limits.deadline import Deadline
from plink.solvers.linkages import linkage

_MOST_MEMBERS = 16

# How much farther the next cluster is, at least, than the members of one are.
_LEAST_RATIO = 1.5

# Members of a cluster count as this share of the middle distance apart at least.
_NEAR = 0.01


def small_groups(distance: Matrix, deadline: Deadline) -> list[int]:
    """Return the group number of each host; in most matrices most hosts are alone.

    Groups are clusters of the average-linkage dendrogram, of few hosts. Where one is in another,
    that counts whose hosts are nearer, compared with the cluster that it is merged with.

    Args:
        distance: (N, N), symmetric.
        deadline: when to stop.

    Raises:
        TimeoutError: the time did not suffice.
    """
    size = len(distance)
    least = _NEAR * float(np.median(distance))
    members = [[host] for host in range(size)]
    heights = [0.0] * size
    ratios: list[tuple[float, int]] = []
    for left, right, height, _ in linkage(distance, "average", deadline):
        members.append([*members[int(left)], *members[int(right)]])
        heights.append(float(height))
        for part in (int(left), int(right)):
            if 2 <= len(members[part]) <= _MOST_MEMBERS:
                ratios.append((float(height) / max(heights[part], least, 1e-300), part))
    group = np.arange(size)
    is_free = np.ones(size, dtype=np.bool_)
    for ratio, cluster in sorted(ratios, reverse=True):
        if ratio >= _LEAST_RATIO and is_free[members[cluster]].all():
            is_free[members[cluster]] = False
            group[members[cluster]] = members[cluster][0]
    found: list[int] = np.unique(group, return_inverse=True)[1].tolist()
    return found
