"""Communication tree of the negotiation, taken from the measured plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.plans.forest import NO_PARENT, Forest
from plink.training.control.ranks import Ranks

# Where no plan says how hosts are wired, nobody serves more than so many others.
_MOST_CHILDREN = 8


@dataclass(frozen=True)
class Place:
    """One rank's place in a tree over all ranks.

    Args:
        rank: whose.
        ranks: how many there are.
        parent: None at the root.
        children: by rank, all ranks below each, itself included.
    """

    rank: int
    ranks: int
    parent: int | None
    children: dict[int, Ranks]

    @property
    def subtree(self) -> Ranks:
        """This rank and all below it."""
        below = Ranks.of([self.rank])
        for ranks in self.children.values():
            below |= ranks
        return below


def places(parents: Sequence[int]) -> list[Place]:
    """Return every rank's place.

    Args:
        parents: (P,) of each rank; -1 at the root, of which there is one.

    Raises:
        ValueError: this is no tree.
    """
    ranks = len(parents)
    children: list[list[int]] = [[] for _ in range(ranks)]
    roots = [rank for rank, parent in enumerate(parents) if parent == -1]
    for rank, parent in enumerate(parents):
        if parent != -1:
            if not 0 <= parent < ranks:
                raise ValueError(f"there is no rank {parent} among {ranks}")
            children[parent].append(rank)
    if len(roots) != 1:
        raise ValueError(f"a tree has one root, not {len(roots)}")
    order = list(roots)
    for rank in order:
        order.extend(children[rank])
    if len(order) != ranks:
        raise ValueError("the parents go round in a circle")
    subtrees: dict[int, Ranks] = {}
    for rank in reversed(order):
        below = Ranks.of([rank])
        for child in children[rank]:
            below |= subtrees[child]
        subtrees[rank] = below
    return [
        Place(
            rank,
            ranks,
            None if parents[rank] == -1 else int(parents[rank]),
            {child: subtrees[child] for child in children[rank]},
        )
        for rank in range(ranks)
    ]


def control_parents(forest: Forest) -> list[int]:
    """(P,) of the tree along which ranks agree: that of the plan's heaviest route, or where that is
    flat one in which each rank has at most eight children.
    """
    parents = forest.reduce_parents[int(np.argmax(forest.weights))]
    ranks = forest.ranks
    is_flat = ranks > _MOST_CHILDREN + 1 and np.bincount(parents[parents >= 0]).max() == ranks - 1
    if is_flat:
        return [NO_PARENT, *((rank - 1) // _MOST_CHILDREN for rank in range(1, ranks))]
    return [int(parent) for parent in parents]
