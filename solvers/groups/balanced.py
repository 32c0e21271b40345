"""Groups of bounded sizes: by constrained average linkage, and by constrained k-means."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import kmeans_plusplus

from plink.solvers.groups.grouping import Labels, Matrix, check_distances, renumber

# Least gain of a move, as a share of the largest distance: less is rounding.
_LEAST_GAIN = 1e-9
# Moves per host at most: means change with every move, so that two could undo each other forever.
_MOVES_PER_HOST = 1

RUNS = 5
_MOST_ROUNDS = 20


def compute_least_size(hosts: int, groups: int, elasticity: float) -> int:
    """Return the least number of hosts in a group: N / k / elasticity, rounded down, at least 1.

    Raises:
        ValueError: an elasticity outside 1 to 2, or not 1 to `hosts` groups.
    """
    if not 1.0 <= elasticity <= 2.0:
        raise ValueError(f"elasticity is {elasticity}, expected 1 to 2")
    if not 1 <= groups <= hosts:
        raise ValueError(f"groups is {groups}, expected 1 to the number of hosts, {hosts}")
    return max(1, math.floor(hosts / groups / elasticity))


def balanced_linkage(distance: Matrix, groups: int, *, elasticity: float = 1.0) -> Labels:
    """Return labels of k groups of near hosts, N / k / elasticity to N / k * elasticity in each.

    The two clusters with the least mean distance are joined, over and over, while the union has
    at most N / k * elasticity hosts (rounded up). Where that ends with more than k clusters, the
    smallest are taken apart, and each of their hosts joins the nearest group that has room. Groups
    that are still too small then take the nearest hosts that others can spare. Finally hosts move
    or swap while that brings them nearer.

    Args:
        distance: (N, N), symmetric, finite, zero diagonal.
        groups: k, the number of groups.
        elasticity: 1 (perfectly balanced) to 2.

    Raises:
        ValueError: an invalid matrix, not 1 to N groups, or an elasticity outside 1 to 2.
    """
    check_distances(distance)
    size = len(distance)
    smallest = compute_least_size(size, groups, elasticity)
    largest = max(math.ceil(size / groups), math.ceil(size / groups * elasticity))
    labels = _join_clusters(distance, groups, largest)
    _dissolve(distance, labels, groups, largest)
    labels = renumber(labels)
    _fill(distance, labels, groups, smallest)
    _improve(distance, labels, groups, smallest, largest)
    return renumber(labels)


def _join_clusters(distance: Matrix, groups: int, largest: int) -> Labels:
    """Join hosts by average linkage into k or more clusters of at most `largest` hosts."""
    size = len(distance)
    labels = np.arange(size)
    sizes = np.ones(size)
    between = distance.copy()
    np.fill_diagonal(between, np.inf)
    nearest = between.argmin(axis=1)
    nearest_distance = between[np.arange(size), nearest]
    for _ in range(size - groups):
        one = int(nearest_distance.argmin())
        if not np.isfinite(nearest_distance[one]):
            break
        other = int(nearest[one])
        mean = (sizes[one] * between[one] + sizes[other] * between[other]) / (
            sizes[one] + sizes[other]
        )
        sizes[one] += sizes[other]
        mean[sizes + sizes[one] > largest] = np.inf
        mean[[one, other]] = np.inf
        between[one] = between[:, one] = mean
        between[other] = between[:, other] = np.inf
        sizes[other] = largest + 1
        labels[labels == other] = one
        # Means of two rows are no less than the lesser, so only these rows' nearest can change.
        for row in np.flatnonzero((nearest == one) | (nearest == other)):
            nearest[row] = between[row].argmin()
            nearest_distance[row] = between[row, nearest[row]]
        nearest[one] = mean.argmin()
        nearest_distance[one] = mean[nearest[one]]
        nearest_distance[other] = np.inf
    return labels


def _means(distance: Matrix, labels: Labels, groups: int) -> Matrix:
    """Return each host's mean distance to each group's others, (N, k); infinite without any."""
    hot = np.zeros((len(labels), groups))
    hot[np.arange(len(labels)), labels] = 1.0
    counts = np.tile(hot.sum(axis=0), (len(labels), 1))
    counts -= hot
    means = np.full(counts.shape, np.inf)
    np.divide(distance @ hot, counts, out=means, where=counts > 0)
    return means


def _dissolve(distance: Matrix, labels: Labels, groups: int, largest: int) -> None:
    """Move the hosts of the smallest clusters to the nearest ones with room, until k are left."""
    while True:
        names, sizes = np.unique(labels, return_counts=True)
        if len(names) <= groups:
            return
        small = names[sizes.argmin()]
        room = {int(name): largest - int(size) for name, size in zip(names, sizes, strict=True)}
        del room[int(small)]
        for host in np.flatnonzero(labels == small):
            open_groups = [name for name, places in room.items() if places > 0]
            means = [distance[host, labels == name].mean() for name in open_groups]
            joined = open_groups[int(np.argmin(means))]
            labels[host] = joined
            room[joined] -= 1


def _fill(distance: Matrix, labels: Labels, groups: int, smallest: int) -> None:
    """Move hosts to groups that are too small, first those that get least farther from others."""
    while True:
        sizes = np.bincount(labels, minlength=groups)
        small = int(sizes.argmin())
        if sizes[small] >= smallest:
            return
        means = _means(distance, labels, groups)
        own = means[np.arange(len(labels)), labels]
        own[~np.isfinite(own)] = 0.0
        # A group at its smallest has no host to spare; a host alone in its group has no mean there.
        can_leave = (sizes[labels] > smallest) & (labels != small)
        loss = np.where(can_leave, means[:, small] - own, np.inf)
        labels[int(loss.argmin())] = small


def _improve(distance: Matrix, labels: Labels, groups: int, smallest: int, largest: int) -> None:
    """Move or swap hosts while that lowers distances within groups and sizes stay allowed."""
    hosts = np.arange(len(labels))
    hot = np.zeros((len(labels), groups))
    hot[hosts, labels] = 1.0
    sums = distance @ hot
    least = _LEAST_GAIN * float(distance.max())

    def move(host: int, group: int) -> None:
        sums[:, labels[host]] -= distance[:, host]
        sums[:, group] += distance[:, host]
        hot[host, labels[host]], hot[host, group] = 0.0, 1.0
        labels[host] = group

    for _ in range(_MOVES_PER_HOST * len(labels)):
        sizes = hot.sum(axis=0)
        means = sums / np.maximum(sizes - hot, 1.0)
        gain = means[hosts, labels][:, None] - means
        # [g][h]: the host of group g that gains most by going to group h, and its gain.
        of_groups = [hosts[labels == group] for group in range(groups)]
        leaver = np.array([group[gain[group].argmax(axis=0)] for group in of_groups])
        best = gain[leaver, np.arange(groups)]
        moves = np.where((sizes[:, None] > smallest) & (sizes[None, :] < largest), best, -np.inf)
        np.fill_diagonal(moves, -np.inf)
        # A host that changes places with another is not among those that this one comes to.
        apart = distance[leaver, leaver.T]
        joined = (sums[leaver, np.arange(groups)] - apart) / np.maximum(sizes - 1.0, 1.0)
        gains = means[leaver, np.arange(groups)[:, None]] - joined
        swaps = gains + gains.T
        np.fill_diagonal(swaps, -np.inf)
        g, h = divmod(int(np.maximum(moves, swaps).argmax()), groups)
        if max(moves[g, h], swaps[g, h]) <= least:
            return
        go, come = int(leaver[g, h]), int(leaver[h, g])
        move(go, h)
        if swaps[g, h] > moves[g, h]:
            move(come, g)


def constrained_kmeans(
    points: Matrix, groups: int, *, elasticity: float = 1.0, seed: int = 0, runs: int = RUNS
) -> Labels:
    """Group points by k-means, with at least N / k / elasticity points in each group.

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
    smallest = compute_least_size(len(points), groups, elasticity)
    seeds = np.random.SeedSequence([seed, 0x3EA5]).generate_state(runs)
    starts = [kmeans_plusplus(points, groups, random_state=int(start))[0] for start in seeds]
    found = [_run(points, centres, smallest) for centres in starts]
    _, _, labels = min(found, key=lambda run: run[:2])
    return renumber(labels)


def _run(points: Matrix, centres: Matrix, smallest: int) -> tuple[float, float, Labels]:
    """Run k-means from given centres; return the sizes' deviation, the inertia and the groups."""
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
    """Assign points to centres at the least squared distance, `smallest` or more to each centre."""
    size, groups = squared.shape
    nearest: Labels = squared.argmin(axis=1)
    if np.bincount(nearest, minlength=groups).min() >= smallest:
        return nearest
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
