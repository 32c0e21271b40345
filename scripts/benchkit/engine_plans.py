"""The plans that scripts/bench-engine compares, as JSON has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from solvers.forests.flat import flat as flat_routes
from solvers.forests.inside_hosts import inside_hosts

Plan = dict[str, Any]


def flat(ranks: int) -> Plan:
    """A star for each rank."""
    parents = [[-1 if rank == root else root for rank in range(ranks)] for root in range(ranks)]
    return {"weights": [1.0] * ranks, "reduce": parents, "broadcast": parents}


def ring(ranks: int) -> Plan:
    """A chain for each rank, all along one ring."""
    roots = range(ranks)
    reduce = [[-1 if r == root else (r + 1) % ranks for r in range(ranks)] for root in roots]
    broadcast = [[-1 if r == root else (r - 1) % ranks for r in range(ranks)] for root in roots]
    return {"weights": [1.0] * ranks, "reduce": reduce, "broadcast": broadcast}


def two_level(groups: Sequence[Sequence[int]]) -> Plan:
    """A tree for each rank: in the other groups one master gathers for it (Luo 2020, §4.1.2)."""
    ranks = sum(map(len, groups))
    trees = []
    for home in groups:
        for index, root in enumerate(home):
            parents = [-1] * ranks
            for group in groups:
                master = root if group is home else group[index % len(group)]
                for rank in group:
                    parents[rank] = root if rank == master else master
            parents[root] = -1
            trees.append(parents)
    return {"weights": [1.0] * ranks, "reduce": trees, "broadcast": trees}


def flat_over_hosts(hosts: Sequence[str]) -> Plan:
    """Stars over hosts; in each of them one rank in turn stands for the others."""
    _, host_of = np.unique(hosts, return_inverse=True)
    routes = inside_hosts(flat_routes(np.ones(host_of.max() + 1)), host_of)
    return {
        "weights": routes.weights.tolist(),
        "reduce": routes.reduce_parents.tolist(),
        "broadcast": routes.broadcast_parents.tolist(),
    }
