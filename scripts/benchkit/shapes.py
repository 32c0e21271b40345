"""Plans of different shapes over the same ranks, for jobs that change from one to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchkit.engine_plans import lab_network
from plink.optimize.plans.candidates import build
from plink.plans.forest import Forest, make_forest

_KINDS = ("2lha", "ring", "flat", "tree")


def shapes(rack_of: Sequence[int], seed: int) -> list[tuple[str, Forest]]:
    """Name and forest of each; from one to the next most connections change.

    Args:
        rack_of: of each rank.
        seed: of weights and roots.
    """
    ranks = len(rack_of)
    network = lab_network(rack_of, 1e9, 1e9)
    order, host_of = list(range(ranks)), np.arange(ranks)
    plain = {kind: build(kind, network, order, host_of) for kind in _KINDS}
    drawn = np.random.default_rng(seed)

    def weighed(forest: Forest) -> Forest:
        weights = drawn.integers(1, 10, forest.routes).astype(np.float64)
        return Forest(weights, forest.reduce_parents, forest.broadcast_parents)

    root = int(drawn.integers(1, ranks))
    return [
        ("flat", plain["flat"]),
        ("ring", plain["ring"]),
        ("star", star(ranks, 0)),
        ("two levels", plain["2lha"]),
        ("tree", plain["tree"]),
        ("flat, weights moved", weighed(plain["flat"])),
        ("star, root moved", star(ranks, root)),
        ("ring, weights moved", weighed(plain["ring"])),
        ("two levels, weights moved", weighed(plain["2lha"])),
    ]


def star(ranks: int, root: int) -> Forest:
    """One route: all at the root."""
    parents = np.full((1, ranks), root, dtype=np.int32)
    parents[0, root] = -1
    return make_forest([1.0], parents, parents)
