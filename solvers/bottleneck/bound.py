"""How near the farthest two neighbours of any order can be at best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.bottleneck.blocks import Graph, largest_block, largest_component
from solvers.bottleneck.used import Used
from solvers.collectives.form import RingForm
from solvers.distances import Matrix

# A ring of fewer hosts is an edge there and back.
_LEAST_RING = 3


def farthest_bound(used: Used, distance: Matrix, levels: npt.NDArray[np.float64]) -> int:
    """The first level within which the hosts could be near enough for an order, by what it needs.

    A ring needs a biconnected part with as many hosts as it goes through, anything else a connected
    one; and hosts with as many near others as the ranks exchange data with. All of that can be
    there and no order, so this is a bound only.

    Args:
        used: the pairs of ranks that exchange data.
        distance: (H, H), symmetric.
        levels: (L,) ascending distances; the last one is the greatest of all.

    Returns:
        an index into `levels`.
    """
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        if _may_hold(used, distance <= levels[middle]):
            high = middle
        else:
            low = middle + 1
    return low


def _may_hold(used: Used, graph: Graph) -> bool:
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
