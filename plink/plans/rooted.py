"""Routes of a plan for collectives with one root, such as broadcast and reduce.

An all-reduce uses a forest's routes as they are. A reduce-scatter ends, and an all-gather begins,
at the owner of each segment; a broadcast begins and a reduction ends at one root. They use routes
of that root, and others with the edges between the old root and the new one turned round: what two
levels save between groups, they save here, too, for the trees have the same edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.plans.forest import NO_PARENT, Forest, Parents

Indices = npt.NDArray[np.intp]

# Where no route has the root, so many are turned towards it; more would have too few chunks each.
MOST_TURNED = 8


def find_roots(forest: Forest) -> Indices:
    """Return the root rank of each route of a forest, shape (R,)."""
    roots: Indices = np.argmax(forest.reduce_parents == NO_PARENT, axis=1)
    return roots


def select_rooted(forest: Forest, root: int, roots: Indices | None = None) -> Forest:
    """Return a forest's routes with a given root; without any, its heaviest routes rerooted to it.

    Args:
        forest: that `plink.plans.check` lets pass.
        root: the rank at which the segment begins or ends.
        roots: (R,) root of each route (`find_roots`), if known.

    Returns:
        routes with positive weight and that root, in the order of the plan. Where the plan has none
        with that root, the `MOST_TURNED` heaviest, heaviest first, among equals the first.
    """
    own = find_roots(forest) if roots is None else roots
    is_used = forest.weights > 0.0
    chosen = np.flatnonzero(is_used & (own == root))
    if not len(chosen):
        heaviest = np.argsort(-forest.weights, kind="stable")[:MOST_TURNED]
        chosen = heaviest[is_used[heaviest]]
    return _reroot_forest(forest, chosen, root)


def reroot_routes(forest: Forest, root: int) -> Forest:
    """Return a forest of all routes with positive weight, rerooted to one rank.

    Each keeps its weight, so that a large buffer is spread over all of them: of a flat plan that is
    a scatter and an all-gather (van de Geijn's broadcast; Barnett et al., Interprocessor Collective
    Communication Library, 1994).

    Args:
        forest: that `plink.plans.check` lets pass.
        root: the rank at which the buffer begins or ends.
    """
    return _reroot_forest(forest, np.flatnonzero(forest.weights > 0.0), root)


def reroot(parents: Parents, root: int | Sequence[int]) -> Parents:
    """Return the parents of trees with the same edges but other given roots, (R, P).

    Args:
        parents: (R, P) of each rank, -1 at the root of each tree.
        root: the new one of all trees, or of each.
    """
    trees = parents.copy()
    route = np.arange(len(trees))
    at = np.array(np.broadcast_to(root, len(trees)))
    above = np.full(len(trees), NO_PARENT)
    while len(route):
        further = trees[route, at]
        trees[route, at] = above
        goes_on = further != NO_PARENT
        route, above, at = route[goes_on], at[goes_on], further[goes_on]
    return trees


def _reroot_forest(forest: Forest, chosen: Indices, root: int) -> Forest:
    return Forest(
        forest.weights[chosen],
        reroot(forest.reduce_parents[chosen], root),
        reroot(forest.broadcast_parents[chosen], root),
    )
