"""An order in which near hosts stand side by side, fast: where a search starts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def clustered(distance: Matrix) -> list[int]:
    """Leaves of the tree of average linkage, by chains of nearest neighbours (Murtagh 1983).

    Ranks whose numbers are near are near in every usual algorithm, so that this is a cheap order
    for all of them. Which of two branches comes first says nothing, as no leaf ordering is done:
    see `solvers.seriation` for one that does.

    Args:
        distance: (N, N), symmetric, finite.

    Returns:
        A permutation of 0 ... N-1, the same for the same input.
    """
    size = len(distance)
    between = distance.copy()
    np.fill_diagonal(between, np.inf)
    leaves: dict[int, list[int]] = {host: [host] for host in range(size)}
    chain: list[int] = []
    while len(leaves) > 1:
        if not chain:
            chain.append(next(iter(leaves)))
        while True:
            last = chain[-1]
            nearest = int(between[last].argmin())
            if len(chain) > 1 and between[last, chain[-2]] <= between[last, nearest]:
                break
            chain.append(nearest)
        one, other = chain.pop(), chain.pop()
        merged = leaves[one], leaves.pop(other)
        weights = len(merged[0]), len(merged[1])
        joint = np.average(between[[one, other]], axis=0, weights=weights)
        joint[one] = np.inf
        between[one] = between[:, one] = joint
        between[other] = between[:, other] = np.inf
        leaves[one] = [*merged[0], *merged[1]]
    return next(iter(leaves.values()))
