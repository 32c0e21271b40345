"""Groups that the distances themselves show: how many, at which levels, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solvers.groups.grouping import (
    ALONE,
    Labels,
    Matrix,
    check_distances,
    renumbered,
    traffic,
)
from solvers.groups.separation import Separation, log_distances, separation

# Cuts of the tree that are looked at: where joining takes the largest steps.
_CUTS = 8
# What nine in ten hosts must reach; few hosts look grouped by chance more often. Of random points
# on a line, the worst case, a few in 100 sets reach it where hosts are few, and almost none from 24
# hosts on (docs/group.md).
_LEAST_SEPARATION = 1.35
_MORE_FOR_FEW = 200.0
# The same where groups of several hosts do not even overlap (`_is_apart`).
_LEAST_IF_APART = 1.0
_GROUP_TO_BE_APART = 3
_HOSTS_TO_BE_APART = 16
# Two levels differ in what they say only if one has this many times the other's groups.
_LEAST_RATIO = 1.5


@dataclass(frozen=True)
class Level:
    """One grouping of the hosts, and how clearly they belong to it."""

    labels: Labels
    separation: Separation

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.labels.max()) + 1


def find_levels(distance: Matrix) -> Sequence[Level]:
    """The levels of groups that the distances show, the fewest groups first; none where none is.

    Average linkage; the tree is cut where its heights make the largest steps, and a cut is a level
    if nine in ten hosts are clearly nearer to their own group than to any other (`separation`).
    A host that is alone in a cut fits nowhere at that level.

    Args:
        distance: (N, N), symmetric, finite, zero diagonal.

    Raises:
        ValueError: no such matrix.
    """
    check_distances(distance)
    size = len(distance)
    if size < 4:
        return ()
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    tree = linkage(squareform(distance, checks=False), method="average")
    logs = log_distances(distance)
    least = _LEAST_SEPARATION + _MORE_FOR_FEW / size**2
    found = []
    for clusters in _cuts(tree, size):
        labels = _cut(tree, clusters)
        level = Level(labels, separation(logs, labels))
        if level.groups < 2:
            continue
        if level.separation.weakest >= (_LEAST_IF_APART if _is_apart(distance, labels) else least):
            found.append(level)
    # The clearest first; another that has about as many groups says the same less clearly.
    found.sort(key=lambda level: -_clarity(level))
    levels: list[Level] = []
    for level in found:
        ratios = (level.groups / other.groups for other in levels)
        if all(max(ratio, 1.0 / ratio) >= _LEAST_RATIO for ratio in ratios):
            levels.append(level)
    return sorted(levels, key=lambda level: level.groups)


def primary(levels: Sequence[Level]) -> Level:
    """The level with the least traffic at a global master of 2LHA (Luo 2020, eq. 4.2)."""
    return min(levels, key=lambda level: traffic(len(level.labels), level.groups))


def _is_apart(distance: Matrix, labels: Labels) -> bool:
    """Whether no distance within a group, of three hosts or more, is as large as one between two.

    Of 16 random points or more that is so as seldom as that they look separate on average, and so
    it is believed of fewer hosts whose readings are disturbed. Fewer points fall so too often.
    """
    if len(labels) < _HOSTS_TO_BE_APART or (labels == ALONE).any():
        return False
    if np.bincount(labels).min() < _GROUP_TO_BE_APART:
        return False
    is_within = labels[:, None] == labels[None, :]
    return float(distance[is_within].max()) < float(distance[~is_within].min())


def _clarity(level: Level) -> float:
    """The separation of the weakest tenth, less for hosts that the level leaves alone."""
    placed = float((level.labels != ALONE).mean())
    return level.separation.weakest * placed**2


def _cuts(tree: Matrix, size: int) -> Sequence[int]:
    """How many clusters there are below the largest steps in the logarithm of the heights."""
    heights = np.maximum(tree[:, 2], max(float(tree[-1, 2]), 1e-300) * 1e-9)
    steps = np.log(heights[1:] / heights[:-1])
    # Below step i, i + 1 joins are done.
    clusters = size - 1 - np.arange(len(steps))
    largest = np.argsort(-steps, kind="stable")[:_CUTS]
    return [int(clusters[step]) for step in largest if steps[step] > 0.0 and clusters[step] >= 2]


def _cut(tree: Matrix, clusters: int) -> Labels:
    """The groups when so many clusters are left; a cluster of one host is `ALONE`."""
    size = len(tree) + 1
    parent = np.arange(2 * size - 1)
    for join in range(size - clusters):
        parent[tree[join, :2].astype(int)] = size + join
    labels = np.arange(size)
    while (parent[labels] != labels).any():
        labels = parent[labels]
    names, sizes = np.unique(labels, return_counts=True)
    return renumbered(np.where(np.isin(labels, names[sizes == 1]), ALONE, labels))
