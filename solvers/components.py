"""Connected components of an undirected graph: their sizes, trees over them, their vertices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Graph = npt.NDArray[np.bool_]


def breadth_first(graph: Graph) -> npt.NDArray[np.intp]:
    """Return each vertex's parent in breadth-first trees of all components, (N,); -1 for roots.

    Args:
        graph: (N, N) symmetric; the diagonal is not looked at.
    """
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


def component_sizes(graph: Graph) -> list[int]:
    """Return the number of vertices of each connected component of an (N, N) graph.

    Args:
        graph: (N, N) symmetric; the diagonal is not looked at.
    """
    is_new = np.ones(len(graph), dtype=bool)
    sizes = []
    for root in range(len(graph)):
        if not is_new[root]:
            continue
        before = int(is_new.sum())
        is_new[root] = False
        border = np.array([root])
        while len(border):
            border = np.flatnonzero(graph[border].any(axis=0) & is_new)
            is_new[border] = False
        sizes.append(before - int(is_new.sum()))
    return sizes


def components(
    size: int, sources: npt.NDArray[np.intp], destinations: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Return the index of each vertex's connected component, (N,), from 0, given the edges.

    Args:
        size: N.
        sources, destinations: (E,) the ends of every edge.
    """
    lowest = np.arange(size)
    while True:
        # Each part takes the least number at either end of its edges, then that one's.
        before = lowest
        lowest = lowest.copy()
        np.minimum.at(lowest, before[sources], before[destinations])
        np.minimum.at(lowest, before[destinations], before[sources])
        while not np.array_equal(deeper := lowest[lowest], lowest):
            lowest = deeper
        if np.array_equal(lowest, before):
            return np.unique(lowest, return_inverse=True)[1]
