"""Batch operations on many trees over the same members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers.forests.routes import Floats, Indices


def depths(parents: Indices) -> Indices:
    """Return the edges from every member to its root, (R, P), by pointer doubling."""
    is_root = parents < 0
    depth = np.where(is_root, 0, 1)
    above = np.where(is_root, np.arange(parents.shape[1]), parents)
    for _ in range(int(parents.shape[1]).bit_length()):
        depth = depth + np.take_along_axis(depth, above, axis=1)
        above = np.take_along_axis(above, above, axis=1)
    return depth


def levels(depth: Indices) -> Sequence[tuple[Indices, Indices]]:
    """Return routes and members at every depth, (F,) each, roots first."""
    by_depth = np.argsort(depth, axis=None, kind="stable")
    ends = np.cumsum(np.bincount(depth.ravel()))[:-1]
    route, member = np.unravel_index(by_depth, depth.shape)
    return list(zip(np.split(route, ends), np.split(member, ends), strict=True))


def heights(parents: Indices) -> Indices:
    """Return the edges between every member and its deepest descendant, (R, P)."""
    height = np.zeros(parents.shape, dtype=np.intp)
    for route, member in reversed(levels(depths(parents))[1:]):
        above = parents[route, member]
        np.maximum.at(height, (route, above), height[route, member] + 1)
    return height


def children(parents: Indices) -> Indices:
    """Return the number of children of each member, (R, P)."""
    count = np.zeros(parents.shape, dtype=np.intp)
    route, member = np.nonzero(parents >= 0)
    np.add.at(count, (route, parents[route, member]), 1)
    return count


def messages_on_the_way(up: Indices, down: Indices) -> Indices:
    """Return how many messages are handled in sequence on each route's longest path, (R,).

    A member takes its children's messages one by one and sends them the result one by one.

    Args:
        up, down: (R, P) parents in the reduction and broadcast trees.
    """
    arrived = np.zeros(up.shape, dtype=np.intp)
    count = children(up)
    for route, member in reversed(levels(depths(up))):
        arrived[route, member] += count[route, member]
        above = up[route, member]
        is_sent = above >= 0
        sent = arrived[route, member] + 1
        np.maximum.at(arrived, (route[is_sent], above[is_sent]), sent[is_sent])
    delivered = np.zeros(down.shape, dtype=np.intp)
    is_root = down < 0
    delivered[is_root] = arrived[is_root]
    count = children(down)
    for route, member in levels(depths(down))[1:]:
        above = down[route, member]
        delivered[route, member] = delivered[route, above] + count[route, above] + 1
    last: Indices = delivered.max(axis=1)
    return last


def seconds_on_the_way(up: Indices, up_s: Floats, down: Indices, down_s: Floats) -> Floats:
    """Return the time from first contribution to last result on each route, (R,).

    What a member gets from its children comes over its link one after the other, and so goes what
    it sends them.

    Args:
        up, down: (R, P) parents in the reduction and broadcast trees.
        up_s, down_s: (R, P) what the message between a member and its parent takes; 0 at roots.
    """
    arrived = np.zeros(up.shape)
    taken = _of_children(up, up_s)
    for route, member in reversed(levels(depths(up))):
        arrived[route, member] += taken[route, member]
        above = up[route, member]
        is_sent = above >= 0
        np.maximum.at(
            arrived, (route[is_sent], above[is_sent]), arrived[route[is_sent], member[is_sent]]
        )
    delivered = np.where(down < 0, arrived, 0.0)
    given = _of_children(down, down_s)
    for route, member in levels(depths(down))[1:]:
        above = down[route, member]
        delivered[route, member] = delivered[route, above] + given[route, above]
    last: Floats = delivered.max(axis=1)
    return last


def _of_children(parents: Indices, edge_s: Floats) -> Floats:
    """Return the sum over the edges to each member's children, (R, P)."""
    total = np.zeros(parents.shape)
    route, member = np.nonzero(parents >= 0)
    np.add.at(total, (route, parents[route, member]), edge_s[route, member])
    return total
