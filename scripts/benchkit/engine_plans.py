"""The plans that scripts/bench-engine compares, as JSON has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
