"""Symbolic check of a forest: that every route terminates and yields every rank's sum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.plans.forest import ABSENT, NO_PARENT, Forest, Parents

_SHOWN = 3


class BrokenForestError(ValueError):
    """Error that a forest does not sum every rank's data once and return it to all."""


def check(forest: Forest) -> None:
    """Raise if a route, run symbolically, deadlocks or gives a wrong sum to some rank.

    At the end the root has every rank's contribution once, and the way back gives it to all.

    Raises:
        BrokenForestError: naming route and rank, both counted from 0.
    """
    check_shapes(forest)
    if _is_sound(forest):
        return
    trees = zip(forest.reduce_parents.tolist(), forest.broadcast_parents.tolist(), strict=True)
    for route, (up, down) in enumerate(trees):
        check_route(route, up, down)


def check_shapes(forest: Forest) -> None:
    """Raise if a forest's arrays differ in shape or its weights are not valid.

    Raises:
        BrokenForestError: naming the route, counted from 0.
    """
    shape = forest.reduce_parents.shape
    if len(shape) != 2 or forest.weights.shape != shape[:1] or not all(shape):
        raise BrokenForestError(
            "the arrays of weights and trees differ in the number of routes or ranks"
        )
    if forest.broadcast_parents.shape != shape:
        raise BrokenForestError("the trees of reduction and broadcast have different shapes")
    for route, weight in enumerate(forest.weights.tolist()):
        if not math.isfinite(weight) or weight < 0.0:
            raise BrokenForestError(
                f"route {route}: its weight is {weight:g}, expected a finite number from 0"
            )
    if not 0.0 < sum(forest.weights.tolist()) < math.inf:
        raise BrokenForestError("the weights must have a finite sum above 0")


def _is_sound(forest: Forest) -> bool:
    """Return whether all routes are trees and a route's two trees have the same root.

    In a tree every contribution counts once, since a rank has one parent. The replay itself is only
    needed to say what is wrong.
    """
    roots = [
        find_sound_roots(parents) for parents in (forest.reduce_parents, forest.broadcast_parents)
    ]
    return roots[0] is not None and roots[1] is not None and bool((roots[0] == roots[1]).all())


def find_sound_roots(parents: Parents) -> npt.NDArray[np.intp] | None:
    """Return the root of each of (R, P) trees, shape (R,); None if one is not a tree."""
    ranks = int(parents.shape[1])
    is_root = parents == NO_PARENT
    if parents.min() < NO_PARENT or parents.max() >= ranks or (is_root.sum(axis=1) != 1).any():
        return None
    roots: npt.NDArray[np.intp] = np.argmax(is_root, axis=1)
    above = np.where(is_root, roots[:, None], parents)
    for _ in range(ranks.bit_length() + 1):
        if (above == roots[:, None]).all():
            return roots
        # Twice as far up.
        above = np.take_along_axis(above, above, axis=1)
    return None


def check_route(route: int, up: Sequence[int], down: Sequence[int]) -> None:
    """Raise if one route, run symbolically, deadlocks or gives a wrong sum.

    Raises:
        BrokenForestError: naming route and rank.
    """
    root = _root(f"route {route}: the reduction tree", up)
    other = _root(f"route {route}: the broadcast tree", down)
    if root != other:
        raise BrokenForestError(
            f"route {route}: the root is rank {root} in the reduction tree, but rank {other} in "
            "the broadcast tree"
        )
    _replay_reduction(route, up, root)
    _replay_broadcast(route, down, root)


def _root(tree: str, parents: Sequence[int]) -> int:
    ranks = len(parents)
    for rank, parent in enumerate(parents):
        if parent == ABSENT:
            raise BrokenForestError(
                f"{tree} omits rank {rank}, which only plans with servers may do: plink hub runs "
                "them, the engine does not"
            )
        if not NO_PARENT <= parent < ranks:
            raise BrokenForestError(
                f"{tree} has {parent} as the parent of rank {rank}, expected -1 to {ranks - 1}"
            )
        if parent == rank:
            raise BrokenForestError(f"{tree} makes rank {rank} its own parent")
    roots = [rank for rank, parent in enumerate(parents) if parent == NO_PARENT]
    if not roots:
        raise BrokenForestError(f"{tree} has no root")
    if len(roots) > 1:
        raise BrokenForestError(f"{tree} has {len(roots)} roots: ranks {_list_ranks(roots)}")
    return roots[0]


def _replay_reduction(route: int, parents: Sequence[int], root: int) -> None:
    # Bits are contributions. A rank has one parent and sends once, so that it cannot count twice.
    held = [1 << rank for rank in range(len(parents))]
    awaited = [0] * len(parents)
    for parent in parents:
        if parent != NO_PARENT:
            awaited[parent] += 1
    ready = [rank for rank, count in enumerate(awaited) if count == 0]
    while ready:
        rank = ready.pop()
        parent = parents[rank]
        if parent == NO_PARENT:
            continue
        held[parent] |= held[rank]
        awaited[parent] -= 1
        if awaited[parent] == 0:
            ready.append(parent)
    missing = [rank for rank in range(len(parents)) if not held[root] >> rank & 1]
    if missing:
        raise BrokenForestError(
            f"route {route}: the contribution of rank {missing[0]} never arrives at rank {root}: "
            f"{_cycle(parents, missing[0])} wait for each other"
        )


def _replay_broadcast(route: int, parents: Sequence[int], root: int) -> None:
    children: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent != NO_PARENT:
            children[parent].append(rank)
    has_result = [False] * len(parents)
    waiting = [root]
    while waiting:
        rank = waiting.pop()
        has_result[rank] = True
        waiting += children[rank]
    if not all(has_result):
        rank = has_result.index(False)
        raise BrokenForestError(
            f"route {route}: the result never arrives at rank {rank}: "
            f"{_cycle(parents, rank)} wait for each other"
        )


def _cycle(parents: Sequence[int], rank: int) -> str:
    """Return the ranks of the cycle that blocks the path upwards from a rank."""
    seen: list[int] = []
    while rank not in seen:
        seen.append(rank)
        rank = parents[rank]
    return f"ranks {_list_ranks(sorted(seen[seen.index(rank) :]))}"


def _list_ranks(ranks: Sequence[int]) -> str:
    more = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    shown = [str(rank) for rank in ranks[:_SHOWN]]
    if more or len(shown) < 2:
        return ", ".join(shown) + more
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
