"""Forests of known shape."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.engine import Forest

Parents = npt.NDArray[np.int32]


def stars(ranks: int) -> Forest:
    """One star a rank: flat sharded aggregation."""
    parents = np.empty((ranks, ranks), dtype=np.int32)
    for root in range(ranks):
        parents[root] = root
        parents[root, root] = -1
    return Forest(np.ones(ranks), parents, parents)


def chains(ranks: int) -> Forest:
    """A chunked ring: one chain a rank, that ends at its root and goes on from there."""
    reduce = np.empty((ranks, ranks), dtype=np.int32)
    broadcast = np.empty((ranks, ranks), dtype=np.int32)
    for root in range(ranks):
        for rank in range(ranks):
            reduce[root, rank] = (rank + 1) % ranks
            broadcast[root, rank] = (rank - 1) % ranks
        reduce[root, root] = broadcast[root, root] = -1
    return Forest(np.ones(ranks), reduce, broadcast)


def binary_tree(ranks: int) -> Forest:
    """One tree, as a heap lies in an array."""
    parents = (np.arange(ranks, dtype=np.int32) - 1) // 2
    parents[0] = -1
    return Forest(np.ones(1), parents[None], parents[None])


def random_tree(rng: np.random.Generator, ranks: int, root: int) -> Parents:
    """Any tree: every rank hangs on one of those that came before it in a random order."""
    order = [rank for rank in rng.permutation(ranks).tolist() if rank != root]
    parents = np.full(ranks, -1, dtype=np.int32)
    placed = [root]
    for rank in order:
        parents[rank] = placed[int(rng.integers(len(placed)))]
        placed.append(rank)
    return parents


def random_forest(seed: int, ranks: int, routes: int) -> Forest:
    """Different trees for the two ways, and weights of which some may be zero."""
    rng = np.random.default_rng(seed)
    roots = rng.integers(ranks, size=routes).tolist()
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=routes)
    weights[0] += 1.0
    return Forest(
        weights,
        np.stack([random_tree(rng, ranks, root) for root in roots]),
        np.stack([random_tree(rng, ranks, root) for root in roots]),
    )
