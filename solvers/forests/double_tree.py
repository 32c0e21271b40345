"""The double binary tree (Sanders, Speck, Träff 2009), as NCCL builds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.collectives.nccl import double_tree as parents_in_both
from solvers.forests.routes import Routes, check_permutation, make_routes


def double_tree(order: Sequence[int]) -> Routes:
    """Two binary trees with half of the buffer each; a leaf of one is an inner node of the other.

    Args:
        order: the members by their place in the trees; neighbours are near each other there.

    Raises:
        ValueError: no permutation.
    """
    members = check_permutation(order)
    trees = np.empty((2, len(members)), dtype=np.intp)
    for tree, above in zip(trees, parents_in_both(len(members)), strict=True):
        tree[members] = np.where(above >= 0, members[above], -1)
    return make_routes([1.0, 1.0], trees)
