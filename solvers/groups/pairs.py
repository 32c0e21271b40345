"""The measured pairs of hosts, and what a partition of the hosts costs on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from plink.solvers.distances import fill_gaps
from plink.solvers.groups.classes import Classes, Floats, Ints, Mask, price_partition

# Log odds that keep units of different parents apart.
_NEVER = -1e3


class Pairs:
    """The measured pairs of hosts, their readings and the units that are grouped.

    Args:
        logs: (N, N) logarithms of readings, symmetric.
        is_measured: (N, N) which pairs count, symmetric, false on the diagonal.
        units: (N,) the unit 0 ... U-1 of each host: what stays together; None for hosts.
        parents: (U,) the group each unit stays within; None for no limits.
    """

    def __init__(
        self,
        logs: Floats,
        is_measured: Mask,
        units: Ints | None = None,
        parents: Ints | None = None,
    ) -> None:
        self.logs, self.is_measured = logs, is_measured
        self.upper = np.triu(is_measured, 1)
        self.classes = Classes(logs[self.upper])
        # Pairs that do not count have a bin of their own, the last.
        bins = self.classes.find_bins(logs)
        self._bins = np.where(is_measured, bins, self.classes.count)
        self._are_hosts = units is None
        self.units = np.arange(len(logs)) if units is None else units
        self.size = int(self.units.max()) + 1
        self.parents = np.zeros(self.size, dtype=np.int64) if parents is None else parents

    def evaluate(self, labels: Ints) -> tuple[float, Floats, float]:
        """Return the cost of a partition, and what makes others likelier.

        Args:
            labels: (U,) the group of each unit.

        Returns:
            the cost in nats, (U, U) log odds of two units being together by their readings, and
            the weight of a group before any reading.
        """
        of_hosts = labels[self.units].astype(np.int32)
        is_within = of_hosts[:, None] == of_hosts[None, :]
        bins, count = self._bins[is_within], self.classes.count
        within = np.bincount(bins, minlength=count + 1)[:count] / 2.0
        cost, own, new = self.classes.weigh_split(within)
        odds = np.append(new, 0.0)[self._bins]
        odds[is_within] = np.append(own, 0.0)[bins]
        odds = self._sum_units(odds)
        np.fill_diagonal(odds, 0.0)
        if self.parents.any():
            odds[self.parents[:, None] != self.parents[None, :]] = _NEVER
        price, weight = price_partition(labels, self.parents)
        return cost + price, odds, weight

    def cost_levels(self, levels: Sequence[Ints]) -> float:
        """Return the cost of nested partitions of hosts, with a class of readings for each level.

        Args:
            levels: (N,) labels each, the finest first.
        """
        cost, below, within = 0.0, np.arange(self.size), []
        for labels in levels:
            is_within = self.upper & (labels[:, None] == labels[None, :])
            within.append(np.bincount(self._bins[is_within], minlength=self.classes.count))
            # Groups of the level below are what this level joins.
            cost += price_partition(labels[np.unique(below, return_index=True)[1]])[0]
            below = labels
        own = np.diff([np.zeros(self.classes.count), *within, self.classes.all], axis=0)
        cost += float(self.classes.cost_classes(own[:1], is_one_distance=True).sum())
        return cost + float(self.classes.cost_classes(own[1:]).sum())

    def count_within(self, steps: Ints, count: int) -> Floats:
        """Return (count, B) the readings by bin of pairs that are together at each step of a tree.

        Args:
            steps: (U, U) the step at which two units are joined.
            count: how many steps to look at.
        """
        of_hosts = steps if self._are_hosts else steps[np.ix_(self.units, self.units)]
        bins = self.classes.count
        flat = (of_hosts * bins + self._bins)[self.upper & (of_hosts < count)]
        within = np.bincount(flat, minlength=count * bins).reshape(count, bins)
        return within.cumsum(axis=0).astype(np.float64)

    def _sum_units(self, matrix: Floats) -> Floats:
        """Return (U, U) the sums of a symmetric matrix of hosts over the hosts of units."""
        if self._are_hosts:
            return matrix
        return sum_rows(sum_rows(matrix, self.units, self.size).T, self.units, self.size)

    def fill_distances(self) -> Floats:
        """Return (U, U) distances without gaps; units of different parents are farthest."""
        logs, is_known = self.logs, self.is_measured
        if not self._are_hosts:
            counts = self._sum_units(is_known.astype(np.float64))
            is_known = counts > 0
            logs = self._sum_units(np.where(self.is_measured, logs, 0.0)) / np.maximum(counts, 1.0)
        least = float(logs.min(where=is_known, initial=np.inf))
        most = float(logs.max(where=is_known, initial=-np.inf))
        known = np.where(is_known, logs - least, np.nan)
        if self.parents.any():
            # As far that no third host fills a gap through another parent.
            known[self.parents[:, None] != self.parents[None, :]] = 4.0 * (most - least) + 1.0
        whole, _ = fill_gaps(known)
        np.fill_diagonal(whole, 0.0)
        distances: Floats = (whole + whole.T) / 2.0
        return distances


def sum_rows(matrix: Floats, labels: Ints, groups: int) -> Floats:
    """Return (k, M) the sums over the rows of each group.

    Args:
        matrix: (N, M).
        labels: (N,) the group of each row; each of 0 ... k-1 has one.
        groups: k.
    """
    is_member = csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), (groups, len(labels))
    )
    sums: Floats = np.asarray(is_member @ matrix)
    return sums
