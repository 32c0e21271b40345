"""Distinct shapes of a tree's subtrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# The factor of a leaf's weight in the mean, for each edge that it is farther from the root.
EMPHASIS = 2.0


@dataclass(frozen=True)
class SubtreeShape:
    """Shape of a subtree, without its rank numbers.

    Args:
        share: of the weight of all leaves of the tree, what its own leaves have.
        children: of its root: the place of a shape in the list of all, and how many have it.
    """

    share: float
    children: Sequence[tuple[int, int]]


def list_shapes(parents: Sequence[int], emphasis: float) -> list[SubtreeShape]:
    """Return the distinct shapes of a tree's subtrees, children first, the whole tree last.

    Args:
        parents: parents of every rank, -1 for the root.
        emphasis: by what a leaf's weight grows with every edge between it and the root.
    """
    below: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(rank)
    order = [parents.index(-1)]
    depth = [0] * len(parents)
    for rank in order:
        for child in below[rank]:
            depth[child] = depth[rank] + 1
        order.extend(below[rank])
    # 1 at the deepest leaves, so that no weight overflows.
    weight = [emphasis ** (one - max(depth)) for one in depth]
    for rank in reversed(order):
        if below[rank]:
            weight[rank] = sum(weight[child] for child in below[rank])
    place_of: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    shapes: list[SubtreeShape] = []
    place = [0] * len(parents)
    for rank in reversed(order):
        children = tuple(sorted(Counter(place[child] for child in below[rank]).items()))
        key = (depth[rank], children)
        if key not in place_of:
            place_of[key] = len(shapes)
            shapes.append(SubtreeShape(weight[rank] / weight[order[0]], children))
        place[rank] = place_of[key]
    return shapes
