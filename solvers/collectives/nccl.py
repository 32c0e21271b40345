"""NCCL's ring and double binary tree for one rank per node (src/graph/trees.cc)."""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.algorithm import define, ring_messages
from plink.solvers.collectives.form import RingForm, TreesForm
from plink.solvers.collectives.steps import ring_table
from plink.solvers.collectives.table import Ranks
from plink.solvers.collectives.trees import tree_table


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
    define(
        "nccl-ring",
        "NCCL's ring: every rank sends to the next",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, is_pipelined=True),
        RingForm,
        messages=ring_messages,
    ),
    define(
        "nccl-tree",
        "NCCL's double binary tree: half the buffer up and down each of two trees",
        lambda ranks, size_bytes: tree_table(double_tree(ranks), size_bytes, is_pipelined=True),
        lambda ranks: TreesForm(ranks, double_tree(ranks)),
        # Within a host, ranks are a chain (src/graph/connect.cc).
        is_over_hosts=True,
    ),
)
