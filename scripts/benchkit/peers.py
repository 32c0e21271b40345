"""Peers that plink is compared with, each written straight down from its source."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.form import RoundsForm
from plink.solvers.collectives.steps import PeerTable, Round
from plink.solvers.groups.grouping import Labels, list_members

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.intp]
Objective = Callable[[Vector], tuple[float, Vector]]

# How many shuffled readings the textbook's groups are compared with.
_SHUFFLES = 40
# Annealing: the longest sub-array, moves sampled for the first temperature, and the last one.
_LONGEST = 8
_SAMPLES = 100
_COOLED = 1e-3


def textbook_groups(distance: Matrix) -> list[int] | None:
    """Groups by a textbook recipe, the baseline that discovery must leave behind.

    Average linkage on how each host sees all others, k by the best silhouette, which must exceed
    those of readings shuffled 40 times.

    Args:
        distance: (N, N), symmetric, no gaps.

    Returns:
        each host's group; None where there are none.
    """
    labels, score = _best_silhouette(distance)
    rng = np.random.default_rng(0)
    above = np.triu_indices(len(distance), 1)
    for _ in range(_SHUFFLES):
        shuffled = np.zeros_like(distance)
        shuffled[above] = rng.permutation(distance[above])
        if _best_silhouette(shuffled + shuffled.T)[1] >= score:
            return None
    return labels


def _best_silhouette(distance: Matrix) -> tuple[list[int], float]:
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


def adam(
    objective: Objective, start: Vector, *, rate: float, seconds: float
) -> list[tuple[float, float]]:
    """Adam (Kingma and Ba 2015), with which Luo 2020, §4.2.1, optimises its embedding.

    Returns:
        (processor seconds, least value so far) after each step; the rate falls to 1 %.
    """
    first, second = np.zeros_like(start), np.zeros_like(start)
    point, least = start.copy(), np.inf
    track: list[tuple[float, float]] = []
    began = time.process_time()
    step = 0
    while (passed := time.process_time() - began) < seconds:
        step += 1
        value, gradient = objective(point)
        least = min(least, value)
        track.append((time.process_time() - began, least))
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        mean, spread = first / (1.0 - 0.9**step), second / (1.0 - 0.999**step)
        falling = rate * 0.01 ** (passed / seconds)
        point = point - falling * mean / (np.sqrt(spread) + 1e-8)
    return track


def two_level_table(labels: Labels, size_bytes: float) -> PeerTable:
    """Build the peer table of two-level hierarchical aggregation, 2LHA (Luo 2020, §4.1).

    Every host is the global master of one shard, and of each shard a group has a local master.
    The local masters of a group's shards are its hosts in turn. Rank r is host r. Shards are cut
    into chunks, so all four steps are under way at once.
    """
    groups = list_members(labels)
    size = len(labels)
    gather: list[tuple[int, int]] = []
    across: list[tuple[int, int]] = []
    for shard in range(size):
        for number, hosts in enumerate(groups):
            is_home = labels[shard] == number
            local = shard if is_home else hosts[shard % len(hosts)]
            gather += [(host, local) for host in hosts if host != local]
            if not is_home:
                across.append((local, shard))
    up = [_round(pairs, size_bytes / size) for pairs in (gather, across)]
    down = [Round(step.destinations, step.sources, step.sizes_bytes) for step in reversed(up)]
    return PeerTable(size, [*up, *down], is_pipelined=True)


def _round(pairs: list[tuple[int, int]], size_bytes: float) -> Round:
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Round(ends[:, 0], ends[:, 1], np.full(len(ends), size_bytes))


def paper_annealing(form: RoundsForm, distance: Matrix, seed: int, time_limit_s: float) -> float:
    """Simulated annealing of an order as Luo 2020, §5.2.3, describes it: the least cost found.

    Neighbours are orders with a random sub-array permuted, or with a random pair of ranks swapped;
    the cost is the form's own, with its maxima. The paper names neither temperatures nor their
    course: here they fall geometrically, from what moves change at first to a thousandth of it.
    """
    price = _Price(form, distance)
    rng = np.random.default_rng(seed)
    order = rng.permutation(form.ranks)
    cost = best = price(order)
    changes = [abs(price(_neighbour(rng, order)) - cost) for _ in range(_SAMPLES)]
    first = max(float(np.mean(changes)), 1e-9)
    begin = time.monotonic()
    while (progress := (time.monotonic() - begin) / time_limit_s) < 1.0:
        temperature = first * _COOLED**progress
        other = _neighbour(rng, order)
        change = price(other) - cost
        if change <= 0.0 or rng.random() < math.exp(-change / temperature):
            order, cost = other, cost + change
            best = min(best, cost)
    return best


class _Price:
    """The cost of an order, all edges of all rounds looked up at once."""

    def __init__(self, form: RoundsForm, distance: Matrix) -> None:
        self._distance = distance.ravel()
        self._size = len(distance)
        edges = np.concatenate([step.edges for step in form.rounds])
        self._low, self._high = edges[:, 0].copy(), edges[:, 1].copy()
        self._first = np.cumsum([0, *(len(step.edges) for step in form.rounds)])[:-1]
        self._weight = np.array([step.weight for step in form.rounds])

    def __call__(self, order: Ranks) -> float:
        hops = self._distance.take(order.take(self._low) * self._size + order.take(self._high))
        return float(np.maximum.reduceat(hops, self._first) @ self._weight)


def _neighbour(rng: np.random.Generator, order: Ranks) -> Ranks:
    other = order.copy()
    size = len(order)
    if rng.random() < 0.5:
        i, j = rng.integers(size, size=2)
        other[i], other[j] = other[j], other[i]
    else:
        length = int(rng.integers(2, min(_LONGEST, size) + 1))
        start = int(rng.integers(0, size - length + 1))
        rng.shuffle(other[start : start + length])
    return other
