"""Pairs of trees over the same hosts, for bounds on the cost of both together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.shapes import EMPHASIS, SubtreeShape, list_shapes
from plink.solvers.collectives.form import TreesForm
from plink.solvers.distances import Matrix

Subtrees = list[list[tuple[int, int]]]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class PairOfTrees:
    """Pair of trees of the same shape, or the same tree twice.

    Args:
        subtrees: the different ones, the whole tree last.
        shares: by subtree, what its leaves have of the weight of all leaves in a mean way.
        depth: edges from the root down to the farthest leaf.
        ranks: ranks of each tree.
        is_one_root: whether the same rank is the root of both.
        twice_inner: ranks that have children in both.
        twice_leaf: ranks that have children in neither.
    """

    subtrees: Subtrees
    shares: list[float]
    depth: int
    ranks: int
    is_one_root: bool
    twice_inner: int
    twice_leaf: int

    def roots(self, may_be_root: Flags) -> Flags:
        """Return which hosts may be the roots of both trees, (N, N), from the candidates (N,)."""
        both = may_be_root[:, None] & may_be_root
        diagonal = np.eye(len(both), dtype=np.bool_)
        return both & (diagonal if self.is_one_root else ~diagonal)

    def most_paid(self, prices: Matrix) -> npt.NDArray[np.float64]:
        """Return counts (2, N) of leaf and inner prices whose total both trees never exceed.

        The sum of prices times this is no less than what both trees pay in any order. A host pays
        both prices, or one of them twice: `twice_inner` hosts an inner one in place of a leaf's,
        `twice_leaf` hosts the other way round. Each of these three sums is at most that of as many
        greatest terms.

        Args:
            prices: (2, N) of hosts that are leaves, and of those that have children.
        """
        leaf, inner = prices
        uses = np.zeros_like(prices)
        uses[:, _greatest(leaf + inner, self.ranks)] += 1.0
        instead = inner - leaf
        for own, other, count in ((1, 0, self.twice_inner), (0, 1, self.twice_leaf)):
            hosts = _greatest(instead if own else -instead, count)
            uses[own, hosts] += 1.0
            uses[other, hosts] -= 1.0
        return uses


def pair_trees(form: TreesForm) -> list[PairOfTrees]:
    """Return a form's two trees as a pair if they are alike, else each paired with itself.

    Others are each paired with themselves, those of one shape once.
    """
    shapes = [tuple(list_shapes(tree.tolist(), EMPHASIS)) for tree in form.parents]
    is_idle = [tree == -2 for tree in form.parents]
    if len(shapes) == 2 and shapes[0] == shapes[1] and np.array_equal(*is_idle):
        return [_pair(shapes[0], form.parents)]
    different = {one: place for place, one in enumerate(shapes)}
    return [
        _pair(one, [form.parents[place], form.parents[place]]) for one, place in different.items()
    ]


def _pair(shapes: Sequence[SubtreeShape], trees: Sequence[npt.NDArray[np.intp]]) -> PairOfTrees:
    is_inner = [np.isin(np.arange(len(tree)), tree[tree >= 0]) for tree in trees]
    is_leaf = [(tree != -2) & ~inner for tree, inner in zip(trees, is_inner, strict=True)]
    roots = [int((tree == -1).argmax()) for tree in trees]
    depth: list[int] = []
    for shape in shapes:
        depth.append(max((depth[child] + 1 for child, _ in shape.children), default=0))
    return PairOfTrees(
        [list(shape.children) for shape in shapes],
        [shape.share for shape in shapes],
        depth[-1],
        int((trees[0] != -2).sum()),
        roots[0] == roots[1],
        int((is_inner[0] & is_inner[1]).sum()),
        int((is_leaf[0] & is_leaf[1]).sum()),
    )


def _greatest(values: Matrix, count: int) -> npt.NDArray[np.intp]:
    """Return the indices of the greatest values."""
    first = len(values) - count
    if first <= 0 or count == 0:
        return np.arange(count)
    return np.argpartition(values, first)[first:]
