"""Lower bound on the greatest distance between ranks of an algorithm that exchange data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.nearest import degrees_threshold, nearest_distances
from plink.solvers.collectives.form import Form, RingForm, RoundsForm, distinct_pairs
from plink.solvers.components import breadth_first, component_sizes, components
from plink.solvers.distances import Matrix
from plink.solvers.limits import Deadline
from plink.solvers.slots.layout import RankLayout

Edges = npt.NDArray[np.intp]

Graph = npt.NDArray[np.bool_]

# A ring of fewer hosts is an edge there and back.
_LEAST_RING = 3

# What looking at a graph once takes, for each pair of hosts.
_S_PER_PAIR = 2e-8


@dataclass(frozen=True)
class ExchangingPairs:
    """Pairs of ranks that exchange data in an algorithm, with the layout of ranks on hosts' slots.

    Args:
        form: whose messages they are, over all ranks.
        layout: how the ranks fill the hosts.
    """

    form: Form
    layout: RankLayout

    def farthest(self, distance: Matrix, order: Sequence[int]) -> float:
        """Return the greatest distance of hosts that exchange data in an order; 0 for no pair."""
        if isinstance(self.form, RingForm):
            hosts = np.asarray(order[: self.layout.count_used(order)], dtype=np.intp)
            ends = np.stack([hosts, np.roll(hosts, -1)], axis=1)
        else:
            ends = self.layout.placement(order)[self._edges]
        return float(distance[ends[:, 0], ends[:, 1]].max(initial=0.0))

    @cached_property
    def degrees(self) -> npt.NDArray[np.intp] | None:
        """Number of partners of each rank, (R,); None if a host has several slots."""
        if max(self.layout.slots) > 1:
            return None
        ranks = self.form.ranks
        if isinstance(self.form, RingForm):
            return np.full(ranks, min(2, ranks - 1))
        return np.bincount(self._edges.ravel(), minlength=ranks)

    def nearest_needed(self, distance: Matrix) -> float:
        """Return a lower bound on any order's greatest distance, from hosts' nearest others."""
        degrees = self.degrees
        if degrees is None:
            # Every host that takes a rank has another one beside it, where there is one.
            degrees = np.full(self.layout.fewest_hosts, int(self.is_connected))
        if len(distance) < 2 or len(degrees) < 2 or not degrees.any():
            return 0.0
        nearest = nearest_distances(np.ascontiguousarray(distance))
        return degrees_threshold(degrees, np.sort(nearest, axis=0))

    @cached_property
    def is_connected(self) -> bool:
        """Whether the graph of ranks that exchange data is connected."""
        if isinstance(self.form, RingForm):
            return True
        part_of = components(self.form.ranks, self._edges[:, 0], self._edges[:, 1])
        return not part_of.any()

    @cached_property
    def _edges(self) -> Edges:
        """Pairs of ranks that exchange data, shape (E, 2), each once."""
        if isinstance(self.form, RingForm):
            raise TypeError("a ring's pairs of ranks depend on how many hosts an order uses")
        if isinstance(self.form, RoundsForm):
            pairs = [step.edges for step in self.form.rounds]
        else:
            children = [np.flatnonzero(parents >= 0) for parents in self.form.parents]
            pairs = [
                np.stack([below, parents[below]], axis=1)
                for below, parents in zip(children, self.form.parents, strict=True)
            ]
        every = np.concatenate([np.zeros((0, 2), dtype=np.intp), *pairs])
        return distinct_pairs(every, self.form.ranks)


def largest_component(graph: Graph) -> int:
    """Return the number of vertices in the largest component of an undirected graph.

    Args:
        graph: (N, N) symmetric; the diagonal is not looked at.
    """
    return max(component_sizes(graph))


def largest_block(graph: Graph) -> int:
    """Return the number of vertices in the largest biconnected component, at least 2.

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
        parents = breadth_first(left)
        for vertex in np.flatnonzero(parents >= 0).tolist():
            parent = int(parents[vertex])
            neighbours[vertex].append(parent)
            neighbours[parent].append(vertex)
            left[vertex, parent] = left[parent, vertex] = False
    return _largest_block(neighbours)


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


def farthest_bound(
    used: ExchangingPairs, distance: Matrix, levels: npt.NDArray[np.float64], deadline: Deadline
) -> int:
    """Return the index of the least distance that could be some order's greatest, by graph bounds.

    A ring needs a biconnected part with as many hosts as it goes through, anything else a connected
    one; and hosts with as many near others as the ranks exchange data with. All of that can be
    there and no order, so this is a bound only.

    Args:
        used: the pairs of ranks that exchange data.
        distance: (H, H), symmetric.
        levels: (L,) ascending distances; the last one is the greatest of all.
        deadline: no question is asked that it does not suffice for.

    Returns:
        an index into `levels`: within none before it could they be near enough.
    """
    low, high = 0, len(levels) - 1
    took_s = _S_PER_PAIR * len(distance) ** 2
    while low < high and took_s < deadline.left_s:
        before_s = deadline.left_s
        middle = (low + high) // 2
        if _may_hold(used, distance <= levels[middle]):
            high = middle
        else:
            low = middle + 1
        took_s = before_s - deadline.left_s
    return low


def _may_hold(used: ExchangingPairs, graph: Graph) -> bool:
    needed = used.layout.fewest_hosts
    if needed < 2:
        return True
    if used.degrees is not None:
        near = np.sort(graph.sum(axis=1) - graph.diagonal())[::-1][: len(used.degrees)]
        # Hosts sorted so have as many near ones, in every place, if they have in any.
        if (near < np.sort(used.degrees)[::-1]).any():
            return False
    if isinstance(used.form, RingForm):
        if needed < _LEAST_RING:
            return largest_component(graph) >= needed
        return largest_block(graph) >= needed
    return not used.is_connected or largest_component(graph) >= needed
