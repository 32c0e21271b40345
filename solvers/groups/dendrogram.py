"""A binary tree of hosts, and what was measured between the hosts below each of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.grouping import Matrix

Mask = npt.NDArray[np.bool_]
Nodes = npt.NDArray[np.intp]

# Profiles of more hosts are compared in single precision, which takes half of the time: readings
# are off by far more than its digits.
_MOST_IN_DOUBLE = 2048


@dataclass(frozen=True)
class Dendrogram:
    """A tree whose first N nodes are hosts and whose other N - 1 nodes join two earlier ones.

    The hosts below a node are a slice of `hosts`: from `start` on, `size` many.

    Args:
        hosts: (N,) in the order of the leaves.
        start: (2N - 1,) where the hosts below each node begin.
        size: (2N - 1,) how many there are.
        parent: (2N - 1,) the node above; -1 for the root, which is the last.
        sums: (2N - 1, 3) over the measured pairs below each node: how many, the sum of their
            logarithms, the sum of the squares of these.
    """

    hosts: Nodes
    start: Nodes
    size: Nodes
    parent: Nodes
    sums: npt.NDArray[np.float64]

    @property
    def root(self) -> int:
        """The node above all hosts."""
        return len(self.size) - 1

    def hosts_below(self, node: int) -> Nodes:
        """The hosts below a node."""
        return self.hosts[self.start[node] : self.start[node] + self.size[node]]

    def is_below(self, node: int) -> Mask:
        """(2N - 1,) whether each node is this one or below it."""
        end = self.start[node] + self.size[node]
        found: Mask = (self.start >= self.start[node]) & (self.start + self.size <= end)
        return found


def by_average_linkage(apart: Matrix, logs: Matrix, is_measured: Mask) -> Dendrogram:
    """The tree of average linkage.

    Args:
        apart: (N, N) how far hosts are apart, symmetric, no gaps, zero diagonal.
        logs: (N, N) logarithms of what was measured.
        is_measured: (N, N) symmetric, false on the diagonal: which of them count.
    """
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    size_of_all = len(apart)
    children = linkage(squareform(apart, checks=False), method="average")[:, :2].astype(np.intp)
    nodes = 2 * size_of_all - 1
    size, start = np.ones(nodes, dtype=np.intp), np.zeros(nodes, dtype=np.intp)
    parent = np.full(nodes, -1, dtype=np.intp)
    for join, (left, right) in enumerate(children):
        size[size_of_all + join] = size[left] + size[right]
        parent[[left, right]] = size_of_all + join
    for join in range(size_of_all - 2, -1, -1):
        left, right = children[join]
        start[left] = start[size_of_all + join]
        start[right] = start[left] + size[left]
    hosts = np.empty(size_of_all, dtype=np.intp)
    hosts[start[:size_of_all]] = np.arange(size_of_all)
    weight = is_measured[np.ix_(hosts, hosts)].astype(np.float64)
    values = np.where(weight > 0.0, logs[np.ix_(hosts, hosts)], 0.0)
    end = start + size
    sums = np.empty((nodes, 3))
    for column, matrix in enumerate((weight, values, values * values)):
        # Pairs below a node are a square on the diagonal, which four corners of these sums give.
        corner = np.zeros((size_of_all + 1, size_of_all + 1))
        np.cumsum(np.cumsum(matrix, axis=0), axis=1, out=corner[1:, 1:])
        square = corner[end, end] - corner[start, end] - corner[end, start] + corner[start, start]
        sums[:, column] = square / 2.0
    return Dendrogram(hosts, start, size, parent, sums)


def by_profile(apart: Matrix) -> Matrix:
    """(N, N) how differently two hosts see all others: the root mean square difference.

    Two hosts of a rack are at nearly the same distance from every third one. All readings of both
    speak for it, where their own distance is a single reading.
    """
    size = len(apart)
    squares = (apart * apart).sum(axis=1)
    # What i and j see of each other and of themselves does not compare.
    few_bits = apart.astype(np.float32) if size > _MOST_IN_DOUBLE else apart
    apart_by = squares[:, None] + squares[None, :] - 2.0 * (few_bits @ few_bits)
    apart_by -= 2.0 * apart * apart
    found: Matrix = np.sqrt(np.maximum(apart_by, 0.0) / max(size - 2, 1))
    np.fill_diagonal(found, 0.0)
    return (found + found.T) / 2.0
