"""Adaptation of a forest to a job's changed set of ranks, some lost and some new.

It is made in an instant and keeps what the old one knew of the network. A plan that is computed for
the new ranks is better, and can replace it later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.plans.forest import NO_PARENT, Forest, Parents
from plink.plans.rooted import find_roots, reroot


def flat(ranks: int) -> Forest:
    """Return a forest of one equally weighted star per rank, with that rank as its root."""
    parents = np.tile(np.arange(ranks, dtype=np.int32)[:, None], (1, ranks))
    np.fill_diagonal(parents, NO_PARENT)
    return Forest(np.ones(ranks), parents, parents)


def regroup_forest(forest: Forest, old_ranks: Sequence[int | None]) -> Forest:
    """Adapt a forest to P ranks: old ones renumbered, lost ones removed, new ones added.

    The children of a lost rank hang on its parent. Routes with a lost root are dropped, and the
    others share what they carried in proportion to their weights; where nothing is left, each has
    its heaviest child in the reduction for a root. A new rank is a child of every root, and has a
    route of its own: it takes the root's place in a copy of the heaviest route, the next new rank
    in a copy of the second.

    Args:
        forest: forest over the old ranks that passes `plink.plans.check.check`.
        old_ranks: (P,) old rank of each new rank, at most once; None for a rank that is new.

    Returns:
        a forest over P ranks that passes `check`; its weights sum to 1.

    Raises:
        ValueError: no rank at all, an old one twice, or one that is not in `forest`.
    """
    kept = [old for old in old_ranks if old is not None]
    if not old_ranks or len(set(kept)) < len(kept) or set(kept) - set(range(forest.ranks)):
        raise ValueError(
            f"old_ranks is {list(old_ranks)}, expected distinct ranks of the old forest, below "
            f"{forest.ranks}"
        )
    if not kept:
        return _normalise(flat(len(old_ranks)))
    lost = sorted(set(range(forest.ranks)) - set(kept))
    left = _detach_children(_replace_lost_roots(forest, lost), lost)
    return _normalise(_add_routes(_renumber(left, kept, old_ranks), old_ranks))


def _replace_lost_roots(forest: Forest, lost: Sequence[int]) -> Forest:
    """Drop routes whose root is lost; if all are, reroot them to ranks that remain."""
    used = np.flatnonzero(forest.weights > 0.0)
    roots = find_roots(forest)
    living = used[~np.isin(roots[used], lost)]
    if len(living):
        return Forest(
            forest.weights[living], forest.reduce_parents[living], forest.broadcast_parents[living]
        )
    up, down = forest.reduce_parents[used], forest.broadcast_parents[used]
    new_roots = [_choose_new_root(tree, lost) for tree in up]
    return Forest(forest.weights[used], reroot(up, new_roots), reroot(down, new_roots))


def _choose_new_root(parents: Parents, lost: Sequence[int]) -> int:
    """Return the remaining rank nearest to a tree's root, of equals that of the largest subtree."""
    below = np.ones(len(parents), dtype=np.intp)
    depth = np.zeros(len(parents), dtype=np.intp)
    for rank in range(len(parents)):
        above = int(parents[rank])
        while above != NO_PARENT:
            below[above] += 1
            depth[rank] += 1
            above = int(parents[above])
    living = np.setdiff1d(np.arange(len(parents)), lost)
    first = living[depth[living] == depth[living].min()]
    return int(first[np.argmax(below[first])])


def _detach_children(forest: Forest, lost: Sequence[int]) -> Forest:
    """Attach the children of lost ranks to their parents; lost ranks stay, as leaves."""
    up, down = forest.reduce_parents, forest.broadcast_parents
    for rank in lost:
        up, down = (
            np.where(parents == rank, parents[:, rank, None], parents) for parents in (up, down)
        )
    return Forest(forest.weights, up, down)


def _renumber(forest: Forest, kept: Sequence[int], old_ranks: Sequence[int | None]) -> Forest:
    """Renumber a forest's ranks without the lost ones, adding new ones as the root's children."""
    new_rank = np.full(forest.ranks, NO_PARENT, dtype=np.int32)
    is_old = np.array([old is not None for old in old_ranks])
    new_rank[list(kept)] = np.flatnonzero(is_old)

    def move(parents: Parents) -> Parents:
        of_kept = parents[:, list(kept)]
        result = np.empty((forest.routes, len(old_ranks)), dtype=np.int32)
        result[:, is_old] = np.where(of_kept == NO_PARENT, NO_PARENT, new_rank[of_kept])
        roots = np.argmax(parents == NO_PARENT, axis=1)
        result[:, ~is_old] = new_rank[roots][:, None]
        return result

    return Forest(forest.weights, move(forest.reduce_parents), move(forest.broadcast_parents))


def _add_routes(forest: Forest, old_ranks: Sequence[int | None]) -> Forest:
    """Add to a forest one route of mean weight for each new rank, with that as its root."""
    new = [rank for rank, old in enumerate(old_ranks) if old is None]
    if not new:
        return forest
    heaviest = np.argsort(-forest.weights, kind="stable")
    copied = heaviest[np.arange(len(new)) % forest.routes]
    roots = find_roots(forest)

    def add(parents: Parents) -> Parents:
        swapped = [
            _swap_ranks(parents[route], int(roots[route]), rank)
            for route, rank in zip(copied, new, strict=True)
        ]
        return np.concatenate([parents, np.stack(swapped)])

    weights = np.append(forest.weights, np.full(len(new), forest.weights.mean()))
    return Forest(weights, add(forest.reduce_parents), add(forest.broadcast_parents))


def _swap_ranks(parents: Parents, one: int, other: int) -> Parents:
    """Return a tree's parents, (P,), with two ranks' places in the tree exchanged."""
    names: npt.NDArray[np.int32] = np.arange(len(parents), dtype=np.int32)
    names[[one, other]] = other, one
    swapped = np.where(parents == NO_PARENT, NO_PARENT, names[parents]).astype(np.int32)
    swapped[[one, other]] = swapped[[other, one]]
    return swapped


def _normalise(forest: Forest) -> Forest:
    return Forest(forest.shares, forest.reduce_parents, forest.broadcast_parents)
