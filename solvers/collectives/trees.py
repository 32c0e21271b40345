"""Trees: the buffer is reduced towards the root and sent back from there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.collectives.steps import send, together
from solvers.collectives.table import PeerTable, Ranks, Round


def depths(parents: Ranks) -> Ranks:
    """(N,) edges between the root and every rank.

    Args:
        parents: (N,) the parent of every rank, -1 for the root.
    """
    depth = np.zeros(len(parents), dtype=np.intp)
    above = parents
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    return depth


def tree_table(parents: Sequence[Ranks], size_bytes: int, *, is_pipelined: bool) -> PeerTable:
    """An allreduce over trees at the same time, each with an equal share of the bytes.

    Rounds go from the deepest ranks up to the root, then back.

    Args:
        parents: a tree each: (N,) the parent of every rank, -1 for the root.
        size_bytes: of the whole buffer.
        is_pipelined: the shares flow in chunks.
    """
    share = size_bytes / len(parents)
    depth = [depths(tree) for tree in parents]
    levels = range(max(int(each.max()) for each in depth), 0, -1)
    up = []
    for level in levels:
        children = [np.flatnonzero(each == level) for each in depth]
        sends = [
            send(ranks, tree[ranks], share) for tree, ranks in zip(parents, children, strict=True)
        ]
        up.append(together(*sends))
    down = [Round(step.destinations, step.sources, step.sizes_bytes) for step in reversed(up)]
    return PeerTable(len(parents[0]), [*up, *down], is_pipelined)
