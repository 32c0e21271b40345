"""Messages of a collective along trees, by round, with depths and heights of the members."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.steps import PeerTable, Round

Indices = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


def depths(parents: Indices) -> Indices:
    """Return every member's number of edges to the root of each of R trees, (R, P)."""
    is_root = parents < 0
    depth = np.where(is_root, 0, 1)
    above = np.where(is_root, np.arange(parents.shape[1]), parents)
    for _ in range(int(parents.shape[1]).bit_length()):
        depth = depth + np.take_along_axis(depth, above, axis=1)
        above = np.take_along_axis(above, above, axis=1)
    return depth


def levels(depth: Indices) -> Sequence[tuple[Indices, Indices]]:
    """Return tree and member indices, (F,) each, for every depth, roots first."""
    by_depth = np.argsort(depth, axis=None, kind="stable")
    ends = np.cumsum(np.bincount(depth.ravel()))[:-1]
    route, member = np.unravel_index(by_depth, depth.shape)
    return list(zip(np.split(route, ends), np.split(member, ends), strict=True))


def heights(parents: Indices) -> Indices:
    """Return every member's number of edges to its deepest descendant in each tree, (R, P)."""
    height = np.zeros(parents.shape, dtype=np.intp)
    for route, member in reversed(levels(depths(parents))[1:]):
        above = parents[route, member]
        np.maximum.at(height, (route, above), height[route, member] + 1)
    return height


def tree_table(
    weights: Floats,
    reduce_parents: npt.ArrayLike,
    broadcast_parents: npt.ArrayLike,
    size_bytes: float,
    *,
    is_pipelined: bool = True,
) -> PeerTable:
    """Return the messages, by round, of an allreduce along several trees at once.

    A member sends up as soon as all below it have, and down as soon as it has the sum: round i has
    the messages of those that are i edges away from their farthest leaf, or from their root.

    Args:
        weights: (R,) share of the buffer that each route carries.
        reduce_parents: (R, P) of every member, negative where a route has none.
        broadcast_parents: as `reduce_parents`, on the way down.
        size_bytes: size of all routes together, in bytes.
        is_pipelined: the buffer flows in chunks, so that all rounds are under way at once.
    """
    sizes_bytes = weights * size_bytes
    up = np.asarray(reduce_parents, dtype=np.intp)
    down = np.asarray(broadcast_parents, dtype=np.intp)
    towards_root = _rounds(up, heights(up), sizes_bytes)
    fan_out = [
        Round(step.destinations, step.sources, step.sizes_bytes)
        for step in _rounds(down, depths(down) - 1, sizes_bytes)
    ]
    return PeerTable(up.shape[1], [*towards_root, *fan_out], is_pipelined)


def _rounds(parents: Indices, round_of: Indices, sizes_bytes: Floats) -> list[Round]:
    """Return the messages from members to parents in R trees, grouped by round numbers (R, P)."""
    routes, members = np.nonzero(parents >= 0)
    if not len(routes):
        return []
    numbers = round_of[routes, members]
    in_turn = np.argsort(numbers, kind="stable")
    return [
        Round(child, parents[route, child], sizes_bytes[route])
        for some in np.split(in_turn, np.cumsum(np.bincount(numbers))[:-1])
        for route, child in [(routes[some], members[some])]
    ]
