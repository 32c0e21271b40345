"""Messages of NCCL's ring and double binary tree, one rank per node (src/graph/trees.cc)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.form import RingForm, TreesForm
from plink.solvers.collectives.steps import PeerTable, Ranks, ring_table
from plink.solvers.collectives.trees import tree_table


def binary_tree(ranks: int) -> Ranks:
    """Return each rank's parent in NCCL's first tree, (N,): root 0, odd ranks are leaves."""
    every = np.arange(ranks)
    lowest_bit = every & -every
    below = every ^ lowest_bit
    parents = below | (lowest_bit << 1)
    parents = np.where(parents < ranks, parents, below)
    parents[0] = -1
    return parents


def double_tree(ranks: int) -> list[Ranks]:
    """Return the parents in both of NCCL's trees; the second is the first mirrored or shifted."""
    first = binary_tree(ranks)
    if ranks % 2 == 0:
        second = np.where(first >= 0, ranks - 1 - first, -1)[::-1].copy()
    else:
        second = np.roll(np.where(first >= 0, (first + 1) % ranks, -1), 1)
    return [first, second]


def tree_algorithm(
    name: str,
    about: str,
    build_trees: Callable[[int], Sequence[Ranks]],
    *,
    is_pipelined: bool = True,
    is_over_hosts: bool = False,
) -> Algorithm:
    """Return an allreduce over several trees at once, each with an equal share of the bytes.

    A rank sends up as soon as all below it have, and down as soon as it has the sum. `build_trees`
    returns the parents in each tree, (N,), -1 for the root.
    """

    def table(ranks: int, size_bytes: int) -> PeerTable:
        trees = build_trees(ranks)
        weights = np.full(len(trees), 1 / len(trees))
        return tree_table(weights, trees, trees, size_bytes, is_pipelined=is_pipelined)

    return Algorithm(
        name,
        about,
        table,
        lambda ranks: TreesForm(ranks, build_trees(ranks)),
        is_over_hosts=is_over_hosts,
    )


ALL = (
    Algorithm(
        "nccl-ring",
        "NCCL's ring: every rank sends to the next",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, is_pipelined=True),
        RingForm,
    ),
    tree_algorithm(
        "nccl-tree",
        "NCCL's double binary tree: half the buffer up and down each of two trees",
        double_tree,
        # Within a host, ranks are a chain (src/graph/connect.cc).
        is_over_hosts=True,
    ),
)
