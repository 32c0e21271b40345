"""Trees along which a buffer is reduced to the root and broadcast back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers.collectives.steps import send, together
from plink.solvers.collectives.table import PeerTable, Ranks, Round


def depths(parents: Ranks) -> Ranks:
    """Return the number of edges between the root and every rank, (N,).

    Args:
        parents: (N,) the parent of every rank, -1 for the root.
    """
    depth = np.zeros(len(parents), dtype=np.intp)
    above = parents
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    return depth


def heights(parents: Ranks) -> Ranks:
    """Return the number of edges between every rank and its deepest descendant, (N,)."""
    height = np.zeros(len(parents), dtype=np.intp)
    for rank in np.argsort(-depths(parents)):
        if parents[rank] >= 0:
            height[parents[rank]] = max(height[parents[rank]], height[rank] + 1)
    return height


def tree_table(parents: Sequence[Ranks], size_bytes: int, *, is_pipelined: bool) -> PeerTable:
    """Return an allreduce over several trees at once, each with an equal share of the bytes.

    A rank sends up as soon as all below it have, and down as soon as it has the sum.

    Args:
        parents: a tree each: (N,) the parent of every rank, -1 for the root.
        size_bytes: size of the whole buffer, in bytes.
        is_pipelined: the shares flow in chunks.
    """
    share = size_bytes / len(parents)
    height = [heights(tree) for tree in parents]
    depth = [depths(tree) for tree in parents]
    last = max(int(each.max()) for each in depth)
    up = [_towards_root(parents, height, level, share) for level in range(last)]
    fan_out = [_towards_root(parents, depth, level, share) for level in range(1, last + 1)]
    down = [Round(step.destinations, step.sources, step.sizes_bytes) for step in fan_out]
    return PeerTable(len(parents[0]), [*up, *down], is_pipelined)


def _towards_root(
    parents: Sequence[Ranks], levels: Sequence[Ranks], level: int, size_bytes: float
) -> Round:
    """Return a round in which one level of each tree sends to its parents."""
    sends = []
    for tree, each in zip(parents, levels, strict=True):
        ranks = np.flatnonzero((each == level) & (tree >= 0))
        sends.append(send(ranks, tree[ranks], size_bytes))
    return together(sends)
