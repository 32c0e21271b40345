"""A textbook recipe for groups, as the baseline that discovery must leave behind."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SHUFFLES = 40


def textbook_groups(distance: npt.NDArray[np.float64], seed: int = 0) -> list[int] | None:
    """Average linkage on how each host sees all others, k by the best silhouette.

    The silhouette must exceed those of readings shuffled 40 times.

    Args:
        distance: (N, N), symmetric, no gaps.

    Returns:
        each host's group; None where there are none.
    """
    labels, score = _best(distance)
    rng = np.random.default_rng(seed)
    above = np.triu_indices(len(distance), 1)
    for _ in range(_SHUFFLES):
        shuffled = np.zeros_like(distance)
        shuffled[above] = rng.permutation(distance[above])
        if _best(shuffled + shuffled.T)[1] >= score:
            return None
    return labels


def _best(distance: npt.NDArray[np.float64]) -> tuple[list[int], float]:
    from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415
    from scipy.spatial.distance import pdist  # noqa: PLC0415
    from sklearn.metrics import silhouette_score  # noqa: PLC0415

    tree = linkage(pdist(distance), method="average")
    best: tuple[list[int], float] = ([], -np.inf)
    for count in range(2, len(distance) - 1):
        labels = fcluster(tree, count, "maxclust")
        if 2 <= len(set(labels)) < len(labels):
            score = float(silhouette_score(distance, labels, metric="precomputed"))
            best = max(best, (labels.tolist(), score), key=lambda found: found[1])
    return best
