"""What a ring, or anything that holds together, needs of a graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Graph = npt.NDArray[np.bool_]


def largest_component(graph: Graph) -> int:
    """How many vertices the largest connected part of an undirected graph has.

    Args:
        graph: (N, N) symmetric; the diagonal is not looked at.
    """
    _, part_of = connected_components(coo_array(graph), directed=False)
    return int(np.bincount(part_of).max())


def largest_block(graph: Graph) -> int:
    """How many vertices the largest biconnected part of an undirected graph has, 2 at least.

    A ring through k vertices lies in one such part. Two scan-first forests, the second of what the
    first one leaves, have the blocks of the whole graph (Cheriyan, Kao and Thurimella 1993); in
    their at most 2 N edges the blocks are found by depth (Hopcroft and Tarjan 1973).

    Args:
        graph: (N, N) symmetric; the diagonal is not looked at.
    """
    left = graph.copy()
    np.fill_diagonal(left, val=False)
    neighbours: list[list[int]] = [[] for _ in graph]
    for _ in range(2):
        parents = _forest(left)
        for vertex in np.flatnonzero(parents >= 0).tolist():
            parent = int(parents[vertex])
            neighbours[vertex].append(parent)
            neighbours[parent].append(vertex)
            left[vertex, parent] = left[parent, vertex] = False
    return _largest_block(neighbours)


def _forest(graph: Graph) -> npt.NDArray[np.intp]:
    """(N,) the parent of each vertex in breadth-first trees of all parts, -1 for their roots."""
    parents = np.full(len(graph), -1)
    is_new = np.ones(len(graph), dtype=bool)
    for root in range(len(graph)):
        if not is_new[root]:
            continue
        is_new[root] = False
        waiting = [root]
        for vertex in waiting:
            found = np.flatnonzero(graph[vertex] & is_new)
            parents[found] = vertex
            is_new[found] = False
            waiting.extend(found.tolist())
    return parents


def _largest_block(neighbours: list[list[int]]) -> int:
    depth_of = [-1] * len(neighbours)
    lowest = [0] * len(neighbours)
    largest = 2
    for root in range(len(neighbours)):
        if depth_of[root] >= 0:
            continue
        depth_of[root] = 0
        path, inside = [(root, iter(neighbours[root]))], [root]
        while path:
            vertex, rest = path[-1]
            for other in rest:
                if depth_of[other] < 0:
                    depth_of[other] = lowest[other] = len(path)
                    path.append((other, iter(neighbours[other])))
                    inside.append(other)
                    break
                if len(path) < 2 or other != path[-2][0]:
                    lowest[vertex] = min(lowest[vertex], depth_of[other])
            else:
                path.pop()
                if not path:
                    continue
                above = path[-1][0]
                lowest[above] = min(lowest[above], lowest[vertex])
                if lowest[vertex] >= depth_of[above]:
                    # What was entered since, and the vertex above, hold together without others.
                    place = inside.index(vertex)
                    largest = max(largest, len(inside) - place + 1)
                    del inside[place:]
    return largest
