"""NCCL's ring and double binary tree for one rank per node (src/graph/trees.cc)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm, ring_messages
from plink.solvers.collectives.form import RingForm, TreesForm
from plink.solvers.collectives.steps import (
    PeerTable,
    Ranks,
    Round,
    merge_into_one_round,
    ring_table,
    send,
)


def binary_tree(ranks: int) -> Ranks:
    """Return parents in the first tree, (N,), with root 0 and odd leaves."""
    every = np.arange(ranks)
    lowest_bit = every & -every
    below = every ^ lowest_bit
    parents = below | (lowest_bit << 1)
    parents = np.where(parents < ranks, parents, below)
    parents[0] = -1
    return parents


def double_tree(ranks: int) -> list[Ranks]:
    """Return the parents in both trees; the second is mirrored, or shifted for odd N."""
    first = binary_tree(ranks)
    if ranks % 2 == 0:
        second = np.where(first >= 0, ranks - 1 - first, -1)[::-1].copy()
    else:
        second = np.roll(np.where(first >= 0, (first + 1) % ranks, -1), 1)
    return [first, second]


ALL = (
    Algorithm(
        "nccl-ring",
        "NCCL's ring: every rank sends to the next",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, is_pipelined=True),
        RingForm,
        messages=ring_messages,
    ),
    Algorithm(
        "nccl-tree",
        "NCCL's double binary tree: half the buffer up and down each of two trees",
        lambda ranks, size_bytes: tree_table(double_tree(ranks), size_bytes, is_pipelined=True),
        lambda ranks: TreesForm(ranks, double_tree(ranks)),
        # Within a host, ranks are a chain (src/graph/connect.cc).
        is_over_hosts=True,
    ),
)


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
    return merge_into_one_round(sends)
