"""The shapes that the subtrees of a tree have, each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Shape:
    """A subtree but for the names of its ranks.

    Args:
        leaves: how many it has.
        children: of its root: the place of a shape in the list of all, and how many have it.
    """

    leaves: int
    children: Sequence[tuple[int, int]]


def shapes_of(parents: npt.NDArray[np.intp]) -> list[Shape]:
    """The shapes of a tree's subtrees, each after those of its children: the whole tree's is last.

    Args:
        parents: (N,) the parent of every rank, -1 for the root.
    """
    below: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents.tolist()):
        if parent >= 0:
            below[parent].append(rank)
    order = [parents.tolist().index(-1)]
    for rank in order:
        order.extend(below[rank])
    place_of: dict[tuple[tuple[int, int], ...], int] = {}
    shapes: list[Shape] = []
    place = [0] * len(parents)
    for rank in reversed(order):
        children = tuple(sorted(Counter(place[child] for child in below[rank]).items()))
        if children not in place_of:
            place_of[children] = len(shapes)
            leaves = sum(shapes[child].leaves * count for child, count in children)
            shapes.append(Shape(max(1, leaves), children))
        place[rank] = place_of[children]
    return shapes
