"""Lower bounds for trees, by the hosts farthest from a root and the subtrees below them.

A tree costs at least the shortest path from its root to any host. And where a rank has children, to
the farther of two of them the path goes on: at least to the host's second nearest other. In the
second tree of a double one the leaves of the first have children, so no host escapes that.
"""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.form import TreesForm
from plink.solvers.distances import Matrix
from plink.solvers.limits.deadline import Deadline

# Sums of distances in another order may differ in the last digits.
_ROUNDING = 1e-9


def root_bounds(form: TreesForm, distance: Matrix, deadline: Deadline) -> Matrix:
    """Return, for each host, a lower bound of any order with a tree's root there, (N,).

    Args:
        form: with at least two ranks, any of which may be idle.
        distance: (N, N).
        deadline: hosts for which it does not suffice have the length of paths alone.

    Raises:
        TimeoutError: it did not suffice for the shortest paths.
    """
    paths = _paths(distance, deadline)
    used = min(int((tree != -2).sum()) for tree in form.parents)
    farthest: Matrix = np.partition(paths, used - 1, axis=1)[:, used - 1]
    bounds = farthest.copy()
    if len(form.parents) <= 2:
        below = _Below(form, distance)
        is_double = len(form.parents) == 2
        best = np.inf
        for root in np.argsort(farthest):
            if deadline.is_over or farthest[root] >= best:
                break
            # A host's rank may have its children in either tree; the other's root may be any host.
            reached = np.minimum(paths[root], paths) if is_double else paths[root, None]
            others = farthest if is_double else farthest[root]
            least = np.maximum(others, below.least(reached)).min()
            bounds[root] = max(float(farthest[root]), float(least))
            best = min(best, bounds[root])
    return bounds * (1.0 - _ROUNDING)


class _Below:
    """Lower bounds of path lengths from a host down its subtree."""

    def __init__(self, form: TreesForm, distance: Matrix) -> None:
        hosts = len(distance)
        children = np.max(
            [np.bincount(tree[tree >= 0], minlength=hosts) for tree in form.parents], axis=0
        )
        others = np.sort(distance + np.diag(np.full(hosts, np.inf)), axis=1)
        # So many ranks have fewer children in every tree, and may be on any hosts.
        self._kinds = [
            (int((children < count).sum()), others[:, count - 1])
            for count in (1, 2)
            if count < hosts and (children >= count).any()
        ]

    def least(self, reached: Matrix) -> Matrix:
        """Return lower bounds of the longest path, (K,), from (K, N) path lengths to each host."""
        last = reached.shape[1] - 1
        found = [
            np.partition(reached + onwards, last - exempt, axis=1)[:, last - exempt]
            for exempt, onwards in self._kinds
        ]
        # Nothing where no rank has children.
        longest: Matrix = np.max([np.zeros(len(reached)), *found], axis=0)
        return longest


def _paths(distance: Matrix, deadline: Deadline) -> Matrix:
    """Return the lengths of the shortest paths between all hosts, (N, N) (Floyd 1962)."""
    paths = distance.copy()
    for host in range(len(paths)):
        if deadline.is_over:
            raise TimeoutError
        np.minimum(paths, paths[:, host, None] + paths[None, host], out=paths)
    return paths
