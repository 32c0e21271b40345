"""Rings and 1-trees by definition, for tests of the native solvers."""

from __future__ import annotations

import itertools
import math

import numpy as np

from plink.solvers.collectives.cost import ring_cost


def reversal_gain(distance, order, first, last):
    """Return the gain of a 2-opt move that reverses positions `first` to `last`.

    Reversing the whole ring, or all but one of it, saves nothing.
    """
    if last - first + 1 >= len(order) - 1:
        return 0.0
    before, after = order[first - 1], order[(last + 1) % len(order)]
    removed = distance[before, order[first]] + distance[order[last], after]
    return float(removed - distance[before, order[last]] - distance[order[first], after])


def cheapest_ring(distance):
    """Return a cheapest ring by trying all, for up to 9 hosts."""
    rest = range(1, len(distance))
    best = min(itertools.permutations(rest), key=lambda tail: ring_cost(distance, [0, *tail]))
    return [0, *best]


def one_tree_length(distance, penalty):
    """Return the 1-tree bound under penalties on any ring (Held and Karp 1970).

    A minimum spanning tree of the cities 1 to N-1, by Prim, and the two shortest edges of city 0,
    under weights d(i, j) + penalty(i) + penalty(j). For at least 3 cities.
    """
    size = len(distance)
    added = np.asarray(penalty, dtype=np.float64)
    weight = distance + added[:, None] + added[None, :]
    tree = {1}
    length = 0.0
    while len(tree) < size - 1:
        outside = [city for city in range(1, size) if city not in tree]
        edge, city = min((float(weight[i, j]), j) for i in tree for j in outside)
        tree.add(city)
        length += edge
    ends = sorted(float(weight[0, city]) for city in range(1, size))
    return length + ends[0] + ends[1] - 2.0 * math.fsum(added.tolist())
