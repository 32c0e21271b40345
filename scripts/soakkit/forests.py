"""Plans to switch between: those that plink makes, and any others."""

from __future__ import annotations

import numpy as np

from plink.engine import Forest

MOST_ROUTES = 6


def any_forest(rng: np.random.Generator, ranks: int) -> Forest:
    """Flat, a ring, one tree, two levels or random trees, over ranks in a random order."""
    kinds = (_flat, _ring, _tree, _two_level, _random)
    return kinds[int(rng.integers(len(kinds)))](rng, ranks)


def _of_parents(
    weights: list[float], reduce: list[list[int]], broadcast: list[list[int]]
) -> Forest:
    return Forest(
        np.array(weights), np.array(reduce, dtype=np.int32), np.array(broadcast, dtype=np.int32)
    )


def _flat(rng: np.random.Generator, ranks: int) -> Forest:
    parents = [[-1 if rank == root else root for rank in range(ranks)] for root in range(ranks)]
    return _of_parents(_weights(rng, ranks), parents, parents)


def _ring(rng: np.random.Generator, ranks: int) -> Forest:
    order = rng.permutation(ranks).tolist()
    reduce, broadcast = [], []
    for end in range(ranks):
        up, down = [-1] * ranks, [-1] * ranks
        for step in range(1, ranks):
            up[order[(end + step) % ranks]] = order[(end + step + 1) % ranks]
            down[order[(end + step) % ranks]] = order[(end + step - 1) % ranks]
        reduce.append(up)
        broadcast.append(down)
    return _of_parents(_weights(rng, ranks), reduce, broadcast)


def _tree(rng: np.random.Generator, ranks: int) -> Forest:
    order = rng.permutation(ranks).tolist()
    parents = [-1] * ranks
    for place in range(1, ranks):
        parents[order[place]] = order[(place - 1) // 2]
    return _of_parents([1.0], [parents], [parents])


def _two_level(rng: np.random.Generator, ranks: int) -> Forest:
    order = rng.permutation(ranks).tolist()
    groups = [part.tolist() for part in np.array_split(order, int(rng.integers(1, ranks + 1)))]
    trees = []
    for root in range(ranks):
        parents = [-1] * ranks
        for group in groups:
            master = root if root in group else group[int(rng.integers(len(group)))]
            for rank in group:
                parents[rank] = root if rank == master else master
        parents[root] = -1
        trees.append(parents)
    return _of_parents(_weights(rng, ranks), trees, trees)


def _random(rng: np.random.Generator, ranks: int) -> Forest:
    roots = rng.integers(ranks, size=int(rng.integers(1, MOST_ROUTES + 1))).tolist()
    return _of_parents(
        _weights(rng, len(roots)),
        [_any_tree(rng, ranks, root) for root in roots],
        [_any_tree(rng, ranks, root) for root in roots],
    )


def _any_tree(rng: np.random.Generator, ranks: int, root: int) -> list[int]:
    """Every rank is the child of one of those before it in a random order."""
    parents = [-1] * ranks
    placed = [root]
    for rank in rng.permutation(ranks).tolist():
        if rank != root:
            parents[rank] = placed[int(rng.integers(len(placed)))]
            placed.append(rank)
    return parents


def _weights(rng: np.random.Generator, routes: int) -> list[float]:
    """Equal weights, or random ones, some of them zero."""
    if rng.random() < 0.5:
        return [1.0] * routes
    weights: list[float] = rng.choice([0.0, 0.3, 1.0, 7.0], size=routes).tolist()
    weights[0] += 0.5
    return weights
