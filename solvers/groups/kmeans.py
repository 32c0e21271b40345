"""Constrained k-means on points: the grouping of hosts for 2LHA in Luo 2020, §4.2.1."""

from __future__ import annotations

import numpy as np

from plink.solvers.groups.grouping import Labels, Matrix, compute_least_size, renumber

RUNS = 5
_MOST_ROUNDS = 20


def constrained_kmeans(
    points: Matrix, groups: int, *, elasticity: float = 1.0, seed: int = 0, runs: int = RUNS
) -> Labels:
    """Return k groups of points near their centres, each of at least N / k / elasticity points.

    k-means++ chooses the first centres (Arthur and Vassilvitskii 2007; scikit-learn's); each round
    assigns hosts to centres at the least sum of squared distances that the minimum size allows
    (Bradley, Bennett and Demiriz 2000), exactly. Of several runs the one whose sizes differ least
    is kept, and the tightest among equals; the paper draws one at random.

    Args:
        points: (N, D) coordinates.
        groups: k, the number of groups.
        elasticity: 1 (perfectly balanced) to 2.
        seed: seed of the random first centres.
        runs: number of runs to choose from.

    Raises:
        ValueError: not 1 to N groups, or an elasticity outside 1 to 2.
    """
    # Takes a second to import, and callers import this module for small things too.
    from sklearn.cluster import kmeans_plusplus  # noqa: PLC0415

    smallest = compute_least_size(len(points), groups, elasticity)
    seeds = np.random.SeedSequence([seed, 0x3EA5]).generate_state(runs)
    starts = [kmeans_plusplus(points, groups, random_state=int(start))[0] for start in seeds]
    found = [_run(points, centres, smallest) for centres in starts]
    _, _, labels = min(found, key=lambda run: run[:2])
    return renumber(labels)


def _run(points: Matrix, centres: Matrix, smallest: int) -> tuple[float, float, Labels]:
    """Return the deviation of sizes, the sum of squared distances to centres, and the groups."""
    groups = len(centres)
    labels = np.full(len(points), -1)
    squared = _square_distances(points, centres)
    for _ in range(_MOST_ROUNDS):
        before, labels = labels, _assign_points(squared, smallest)
        if (labels == before).all():
            break
        centres = np.stack([points[labels == group].mean(axis=0) for group in range(groups)])
        squared = _square_distances(points, centres)
    inertia = float(squared[np.arange(len(points)), labels].sum())
    return float(np.bincount(labels, minlength=groups).std()), inertia, labels


def _assign_points(squared: Matrix, smallest: int) -> Labels:
    """Assign points to centres at the least sum, with at least `smallest` points to each centre."""
    size, groups = squared.shape
    nearest: Labels = squared.argmin(axis=1)
    if np.bincount(nearest, minlength=groups).min() >= smallest:
        return nearest
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    # A place for each point: those that a centre must fill, and free ones at the nearest centre.
    least = squared.min(axis=1)
    must = np.repeat(squared - least[:, None], smallest, axis=1)
    places = np.hstack([must, np.zeros((size, size - must.shape[1]))])
    _, place = linear_sum_assignment(places)
    is_free = place >= must.shape[1]
    labels: Labels = np.where(is_free, nearest, np.minimum(place // smallest, groups - 1))
    return labels


def _square_distances(points: Matrix, centres: Matrix) -> Matrix:
    """Return (N, k) squared distances of points from centres."""
    difference = points[:, None, :] - centres[None, :, :]
    squared: Matrix = (difference * difference).sum(axis=2)
    return squared


def balanced_random(hosts: int, groups: int, seed: int = 0) -> Labels:
    """Draw k groups of N / k hosts uniformly at random, the baseline Balanced Random.

    Luo 2020, §4.2.1. Where k does not divide N, sizes differ by one.

    Raises:
        ValueError: not 1 to N groups.
    """
    compute_least_size(hosts, groups, 1.0)
    labels = np.arange(hosts) % groups
    return renumber(np.random.default_rng([seed, 0xBA1A]).permutation(labels))
