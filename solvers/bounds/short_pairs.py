"""Graphs of host pairs within a distance threshold, and which patterns they can contain."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.patterns import Adjacency, Pattern, common_and_continued
from plink.solvers.components import component_sizes
from plink.solvers.limits.deadline import Deadline
from plink.solvers.linkages import linkage

Matrix = npt.NDArray[np.float64]


_NO_LIMIT_S = 1e8

# What looking at a graph once takes at least, for each triple of hosts.
_S_PER_CUBE = 1e-10

# Where SciPy finds factors, and what importing that takes.
_FACTORS, _IMPORT_S = "scipy.sparse.csgraph", 0.5


class ShortPairs:
    """Graphs of the pairs within each distance threshold, for one distance matrix.

    Every condition below holds for a graph that has the pattern as a subgraph on all hosts, and
    goes on holding when pairs are added to the graph. So no order has all edges of the pattern
    within a threshold at which a condition fails, nor within a lesser one.
    """

    def __init__(self, distance: Matrix, deadline: Deadline | None = None) -> None:
        self._distance = distance
        size = len(distance)
        self._levels = np.unique(distance[np.triu_indices(size, 1)])
        self._nearest = np.sort(distance + np.diag(np.full(size, np.inf)), axis=1)[:, :-1]
        matrix = np.ascontiguousarray(distance, dtype=np.float64)
        until = deadline or Deadline(_NO_LIMIT_S)
        self._merges = linkage(matrix, "single", until)
        self._clusters = _clusters(self._merges, linkage(matrix, "average", until))

    @property
    def least_distance(self) -> float:
        """Least distance between any two hosts."""
        return float(self._levels[0])

    def degree_threshold(self, degree: int) -> float:
        """Return the least threshold at which every host has `degree` neighbours."""
        return float(self._nearest[:, degree - 1].max()) if degree > 0 else 0.0

    def quick_threshold(self, pattern: Pattern) -> float:
        """Return the least threshold that satisfies degrees and component sizes."""
        return max(
            self.least_distance,
            self._degrees_threshold(pattern),
            self._component_threshold(pattern),
        )

    def cut_threshold(self, pattern: Pattern, deadline: Deadline) -> float:
        """Return the least threshold with enough pairs across every cluster's cut.

        No more pairs of a host count than the pattern's greatest degree.
        """
        leaving = pattern.least_leaving
        most = int(pattern.degrees[0])
        threshold = 0.0
        for cluster in self._clusters:
            needed = int(leaving[int(cluster.sum())])
            if needed > 0:
                across = self._distance[cluster][:, ~cluster]
                for side in (across, across.T):
                    kept = min(most, side.shape[1])
                    usable = np.partition(side, kept - 1, axis=1)[:, :kept].ravel()
                    if needed <= len(usable):
                        least = float(np.partition(usable, needed - 1)[needed - 1])
                        threshold = max(threshold, least)
            if deadline.is_over:
                break
        return threshold

    def holding_threshold(self, pattern: Pattern, least: float, deadline: Deadline) -> float:
        """Return the least threshold from `least` on at which `can_hold` is true."""
        low = int(np.searchsorted(self._levels, least))
        high = len(self._levels) - 1
        with_factors = _FACTORS in sys.modules or deadline.left_s > _IMPORT_S
        took_s = _S_PER_CUBE * len(self._distance) ** 3
        while low < high and took_s < deadline.left_s:
            middle = (low + high) // 2
            before_s = deadline.left_s
            if self.can_hold(pattern, float(self._levels[middle]), with_factors=with_factors):
                high = middle
            else:
                low = middle + 1
            took_s = before_s - deadline.left_s
        return float(self._levels[low])

    def can_hold(self, pattern: Pattern, threshold: float, *, with_factors: bool = True) -> bool:
        """Return whether the threshold's graph passes all tests for containing the pattern.

        Pairs that no edge of the pattern can be mapped to are taken out until no such pair is left;
        then degrees, components, cuts, and `with_factors` k-factors (for a regular pattern).
        """
        graph = self._distance <= threshold
        np.fill_diagonal(graph, False)
        pairs = -1
        while (now := int(graph.sum())) != pairs:
            pairs = now
            if (np.sort(graph.sum(axis=1))[::-1] < pattern.degrees).any():
                return False
            graph = _with_surroundings(graph, pattern)
        return (
            _components_fit(graph, pattern)
            and self._clusters_fit(graph, pattern)
            and (
                not with_factors
                or not pattern.is_regular
                or _has_factor(graph, int(pattern.degrees[0]))
            )
        )

    def _degrees_threshold(self, pattern: Pattern) -> float:
        threshold = 0.0
        for degree in range(1, int(pattern.degrees[0]) + 1):
            hosts = int((pattern.degrees >= degree).sum())
            reached = np.sort(self._nearest[:, degree - 1])
            threshold = max(threshold, float(reached[hosts - 1]))
        return threshold

    def _component_threshold(self, pattern: Pattern) -> float:
        """Return the least threshold whose components fit the pattern's components."""
        fits = _sums(pattern)
        size_of = [1] * len(self._distance)
        unfit = 0 if fits >> 1 & 1 else len(self._distance)
        threshold = 0.0
        for height, merges in itertools.groupby(self._merges.tolist(), key=lambda row: row[2]):
            if unfit:
                threshold = height
            for left, right, _, merged in merges:
                unfit -= sum(not fits >> size_of[int(part)] & 1 for part in (left, right))
                unfit += not fits >> int(merged) & 1
                size_of.append(int(merged))
        return threshold

    def _clusters_fit(self, graph: Adjacency, pattern: Pattern) -> bool:
        clusters = self._clusters.astype(np.float32)
        inside = clusters @ graph.astype(np.float32)
        degree = graph.sum(axis=1).astype(np.float32)
        usable = np.minimum(np.where(self._clusters, degree - inside, inside), pattern.degrees[0])
        needed = pattern.least_leaving[self._clusters.sum(axis=1)]
        of_cluster = np.where(self._clusters, usable, 0.0).sum(axis=1)
        of_others = usable.sum(axis=1) - of_cluster
        return bool((np.minimum(of_cluster, of_others) >= needed).all())


def _clusters(*merges: npt.NDArray[np.float64]) -> Adjacency:
    """Return the members of each cluster of a dendrogram, (C, N), without single hosts and all."""
    size = len(merges[0]) + 1
    found: dict[bytes, Adjacency] = {}
    for dendrogram in merges:
        rows = list(np.eye(size, dtype=bool))
        for left, right, _, _ in dendrogram[:-1]:
            rows.append(rows[int(left)] | rows[int(right)])
        found.update((row.tobytes(), row) for row in rows[size:])
    return np.array(list(found.values()), dtype=bool).reshape(-1, size)


def _sums(pattern: Pattern) -> int:
    """Return a bit set of the numbers of ranks that unions of pattern components can have."""
    bits = 1
    for size in pattern.component_sizes.tolist():
        bits |= bits << size
    return bits


def _components_fit(graph: Adjacency, pattern: Pattern) -> bool:
    fits = _sums(pattern)
    return all(fits >> size & 1 for size in component_sizes(graph))


def _with_surroundings(graph: Adjacency, pattern: Pattern) -> Adjacency:
    """Return the graph's edges that have at least the surroundings of a pattern's edge."""
    least_common, least_continued = pattern.surroundings
    if least_common == least_continued == 0:
        return graph
    common, continued = common_and_continued(graph)
    enough = continued >= least_continued
    kept: Adjacency = graph & (common >= least_common) & enough & enough.T
    return kept


def _has_factor(graph: Adjacency, degree: int) -> bool:
    """Return whether the graph has a subgraph with in- and out-degree `degree` everywhere.

    Every k-regular subgraph on all hosts does so. The other way round does not follow.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  a third of a second, which few pay for
    from scipy.sparse.csgraph import (  # noqa: PLC0415
        maximum_bipartite_matching,
        maximum_flow,
    )

    size = len(graph)
    if degree == 1:
        matched = maximum_bipartite_matching(csr_array(graph), perm_type="column")
        return bool((matched >= 0).all())
    source, sink = 2 * size, 2 * size + 1
    senders, receivers = np.nonzero(graph)
    hosts = np.arange(size)
    tails = np.concatenate([senders, np.full(size, source), hosts + size])
    heads = np.concatenate([receivers + size, hosts, np.full(size, sink)])
    capacity = np.concatenate([np.ones(len(senders)), np.full(2 * size, degree)]).astype(np.int32)
    network = csr_array((capacity, (tails, heads)), shape=(2 * size + 2, 2 * size + 2))
    return bool(maximum_flow(network, source, sink).flow_value == degree * size)
