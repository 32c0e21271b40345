"""Search for the partition of hosts with the shortest description: a cut tree, then moves.

A partition costs what its two classes of readings cost (`densities`), and the nats that it takes to
say which hosts are together: minus the logarithm of its probability, which is proportional to the
product of a c! over its groups of c hosts. The weight a is the likelier one of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from scipy.special import gammaln

from plink.solvers.distances import fill_gaps
from plink.solvers.groups.densities import Floats, Ints, Mask, ReadingDensities
from plink.solvers.groups.grouping import ALONE

# Weights of a group before any reading, for few groups and for many.
_WEIGHTS = (0.5, 4.0)
# Log odds that keep units of different parents apart.
_NEVER = -1e3
# Rounds of densities that follow groups, and of groups that follow densities.
_ROUNDS = 3
_LEAST_GAIN = 1e-9
# The share of the log odds that counts, and that of all changes that do: readings of one host err
# together, and so count for less than independent ones.
_WEIGHT, _SHARE_OF_CHANGES = 0.56, 0.53


def price_partition(labels: Ints, parents: Ints) -> tuple[float, float]:
    """Return a partition's prior cost in nats, and the likelier of two prior weights of a group.

    Args:
        labels: (U,) the group of each unit, 0 ... k-1.
        parents: (U,) the group that each unit is known to stay within.
    """
    prices = {
        weight: sum(_log_total(count, weight) for count in np.bincount(parents).tolist())
        - float(_log_weights(np.bincount(labels), weight).sum())
        for weight in _WEIGHTS
    }
    likeliest = min(_WEIGHTS, key=lambda weight: prices[weight])
    return prices[likeliest] + float(np.log(len(_WEIGHTS))), likeliest


def _log_weights(counts: Ints, weight: float) -> Floats:
    weights: Floats = gammaln(counts + 1.0) + np.log(weight)
    return weights


@cache
def _log_total(units: int, weight: float) -> float:
    """Return the log of the summed prior weights of all partitions of so many units.

    The sums s_n have the generating function exp(a x / (1 - x)), so that
    s_n = (2 n - 2 + a) s_(n-1) - (n - 1) (n - 2) s_(n-2).
    """
    total, ratio = 0.0, 1.0
    for number in range(1, units + 1):
        ratio = 2 * number - 2 + weight - (number - 1) * (number - 2) / ratio
        total += float(np.log(ratio))
    return total


class Pairs:
    """Measured pairs of hosts with their log readings, and the units (hosts or groups) to group.

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
        self.partners = float(is_measured.sum(axis=1).mean())
        self.densities = ReadingDensities(logs[self.upper])
        # Pairs that do not count have a bin of their own, the last.
        self._bins = np.where(is_measured, self.densities.find_bins(logs), self.densities.count)
        self.units = np.arange(len(logs)) if units is None else units
        self.size = int(self.units.max()) + 1
        self.parents = np.zeros(self.size, dtype=np.int64) if parents is None else parents

    def evaluate(self, labels: Ints) -> tuple[float, Floats, float]:
        """Return a partition's cost in nats, units' log odds of being together, a group's weight.

        Args:
            labels: (U,) the group of each unit.

        Returns:
            the cost in nats, (U, U) log odds of two units being together by their readings, and
            the weight of a group before any reading.
        """
        of_hosts = labels[self.units].astype(np.int32)
        is_within = of_hosts[:, None] == of_hosts[None, :]
        bins, count = self._bins[is_within], self.densities.count
        within = np.bincount(bins, minlength=count + 1)[:count] / 2.0
        own, new = self.densities.weigh_pairs(within)
        odds = np.append(new, 0.0)[self._bins]
        odds[is_within] = np.append(own, 0.0)[bins]
        odds = self._sum_units(odds)
        np.fill_diagonal(odds, 0.0)
        odds[self.parents[:, None] != self.parents[None, :]] = _NEVER
        price, weight = price_partition(labels, self.parents)
        return float(self.densities.cost_splits(within[None])[0]) + price, odds, weight

    def cost_levels(self, levels: Sequence[Ints]) -> float:
        """Return the cost in nats of nested partitions of hosts, each level with its own density.

        Args:
            levels: (N,) labels each, 0 ... k-1, the finest first.
        """
        cost, below = 0.0, np.arange(self.size)
        inner: Floats = np.zeros(self.densities.count)
        for labels in levels:
            is_within = self.upper & (labels[:, None] == labels[None, :])
            within = np.bincount(self._bins[is_within], minlength=self.densities.count)
            own = (within - inner)[None]
            cost += self.densities.cost_readings(own, is_one_distance=not inner.any())[0]
            # Groups of the level below are what this level joins.
            joined = labels[np.unique(below, return_index=True)[1]]
            cost += price_partition(joined, np.zeros_like(joined))[0]
            below, inner = labels, within.astype(np.float64)
        return float(cost + self.densities.cost_readings((self.densities.all - inner)[None])[0])

    def cut_tree(self) -> Ints:
        """Return units' groups, (U,), by the cheapest cut (in nats) of the average-linkage tree."""
        steps = self.size - int(self.parents.max()) - 1
        if self.size < 3 or steps < 1:
            return self.parents
        merges = linkage(squareform(self.fill_distances(), checks=False), "average")
        # The step at which two units are joined stands for their distance.
        merges[:, 2] = np.arange(self.size - 1)
        joined = squareform(cophenet(merges)).astype(np.int64)
        # (S, B) readings of pairs that are together at each step.
        of_hosts, bins = joined[np.ix_(self.units, self.units)], self.densities.count
        flat = (of_hosts * bins + self._bins)[self.upper & (of_hosts < steps)]
        within = np.bincount(flat, minlength=steps * bins).reshape(steps, bins).cumsum(axis=0)
        costs = self.densities.cost_splits(within.astype(np.float64))
        cut = int(costs.argmin())
        if not np.isfinite(costs[cut]):
            return self.parents
        # A unit is named after the first one that it is with.
        first = np.minimum((joined <= cut).argmax(axis=1), np.arange(self.size))
        return np.unique(first, return_inverse=True)[1]

    def fill_distances(self) -> Floats:
        """Return log distances between units, (U, U), gaps filled; greatest if parents differ."""
        counts = self._sum_units(self.is_measured.astype(np.float64))
        logs = self._sum_units(np.where(self.is_measured, self.logs, 0.0))
        np.divide(logs, counts, out=logs, where=counts > 0)
        logs[counts == 0] = np.nan
        logs -= np.nanmin(logs)
        # As far that no third host fills a gap through another parent.
        farthest = 4.0 * float(np.nanmax(logs)) + 1.0
        logs[self.parents[:, None] != self.parents[None, :]] = farthest
        whole, _ = fill_gaps(logs)
        distances: Floats = (whole + whole.T) / 2.0
        return distances

    def _sum_units(self, matrix: Floats) -> Floats:
        """Sum a symmetric matrix over hosts by the units that they belong to, (U, U)."""
        if self.size == len(self.units):
            return matrix
        return _sum_rows(_sum_rows(matrix, self.units).T, self.units)


def find_partition(pairs: Pairs) -> tuple[float, Ints]:
    """Return the cost in nats of the cheapest partition and its (U,) labels.

    Where no partition costs less than one class of readings, these are the parents of the units.
    """
    best, labels = (pairs.densities.one_class_cost, pairs.parents), pairs.cut_tree()
    for _ in range(_ROUNDS):
        cost, odds, weight = pairs.evaluate(labels)
        if not np.isfinite(cost):
            break
        best = min(best, (cost, labels), key=lambda each: each[0])
        labels = move_units(odds, labels, weight)
    return best


def move_units(odds: Floats, labels: Ints, weight: float) -> Ints:
    """Improve a partition's labels, (U,): move units and join groups while the log odds grow.

    Args:
        odds: (U, U) log odds of two units being together, zero diagonal.
        labels: (U,) the partition to begin with.
        weight: of a group, before any reading.
    """
    labels = np.unique(labels, return_inverse=True)[1]
    sums = _add_empty_group(_sum_rows(odds, labels))
    for _ in range(2 * len(labels)):
        gain = _weigh_moves(sums, labels, weight)
        target, best = gain.argmax(axis=1), gain.max(axis=1)
        movable = np.flatnonzero(best > _LEAST_GAIN)
        moved = labels.copy()
        # Moves between other groups do not change what a move gains.
        is_touched = np.zeros(len(sums), dtype=bool)
        for unit in movable[np.argsort(-best[movable])]:
            both = [labels[unit], target[unit]]
            if not is_touched[both].any():
                is_touched[both] = True
                moved[unit] = target[unit]
        if not len(movable):
            joins = _weigh_joins(sums, labels, weight)
            one, other = np.unravel_index(int(joins.argmax()), joins.shape)
            if joins[one, other] <= _LEAST_GAIN:
                break
            moved[labels == one] = other
        for unit in np.flatnonzero(moved != labels):
            sums[labels[unit]] -= odds[unit]
            sums[moved[unit]] += odds[unit]
        labels = moved
        # Rounding leaves nothing where no unit is.
        sums[np.bincount(labels, minlength=len(sums)) == 0] = 0.0
        if labels.max() == len(sums) - 1:
            sums = _add_empty_group(sums)
    return np.unique(labels, return_inverse=True)[1]


def _weigh_moves(sums: Floats, labels: Ints, weight: float) -> Floats:
    """Return the log odds gained by moving each unit to each group or a new one, (U, k + 1).

    Args:
        sums: (k + 1, U) log odds of each unit with each group, the last one empty.
        labels: (U,) the group of each unit, 0 ... k-1; groups may be empty.
        weight: of a group, before any reading.
    """
    units, counts = np.arange(len(labels)), np.bincount(labels, minlength=len(sums))
    gain: Floats = sums.T + np.log(np.where(counts > 0, counts + 1.0, weight))
    # A unit does not join itself.
    stays = np.where(counts > 1, counts, weight)
    gain[units, labels] += np.log(stays / (counts + 1.0))[labels]
    gain -= gain[units, labels][:, None]
    return gain


def _weigh_joins(sums: Floats, labels: Ints, weight: float) -> Floats:
    """Return the log odds gained by joining two groups, (k, k); 0 on the diagonal.

    Arguments are those of `_weigh_moves`.
    """
    groups, of_units, counts = np.unique(labels, return_inverse=True, return_counts=True)
    weights = _log_weights(counts, weight)
    inner: Floats = _sum_rows(sums[groups].T, of_units)
    inner += _log_weights(counts[:, None] + counts[None, :], weight)
    inner -= weights[:, None] + weights[None, :]
    np.fill_diagonal(inner, 0.0)
    gain: Floats = np.zeros((len(sums), len(sums)))
    gain[np.ix_(groups, groups)] = inner
    return gain


def _add_empty_group(sums: Floats) -> Floats:
    return np.pad(sums, ((0, 1), (0, 0)))


def _sum_rows(matrix: Floats, labels: Ints) -> Floats:
    """Return the sums of a matrix's rows by group, (k, M); no group 0 ... k-1 is empty."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
    sums: Floats = np.add.reduceat(matrix[order], starts, axis=0)
    return sums


@dataclass(frozen=True)
class Membership:
    """Probability that each unit is in its right group, and that all are, given that groups exist.

    Args:
        of_units: (U,) the probability that each unit belongs where it is.
        nearest: (U, 2) the two groups that each unit suits best, `ALONE` where there are fewer.
        exact: the probability that all groups are exactly right.
    """

    of_units: Floats
    nearest: Ints
    exact: float


def weigh_membership(pairs: Pairs, labels: Ints) -> Membership:
    """Compute how probable each unit's group is against all other groups that it could be in.

    Args:
        pairs: the readings.
        labels: (U,) the group of each unit, 0 ... k-1.
    """
    units, counts = np.arange(len(labels)), np.bincount(labels)
    cost, odds, weight = pairs.evaluate(labels)
    if not np.isfinite(cost):
        return Membership(np.ones(len(labels)), np.full((len(labels), 2), ALONE), 0.0)
    gain = _weigh_moves(_add_empty_group(_sum_rows(odds, labels)), labels, weight)
    suits = np.where(np.append(counts, 0) > 1, gain, -np.inf)
    best = np.argsort(-suits, axis=1, kind="stable")[:, :2]
    nearest = np.where(np.isfinite(np.take_along_axis(suits, best, axis=1)), best, ALONE)
    gain[units, labels] = -np.inf
    # A unit that is alone has no other group to be alone in.
    gain[counts[labels] == 1, -1] = -np.inf
    chances = np.exp(_WEIGHT * np.clip(gain, -500.0, 20.0)).sum(axis=1)
    changes = np.exp(_WEIGHT * np.clip(gain.max(axis=1), -1000.0, 5.0)).sum()
    exact = 1.0 / (1.0 + _SHARE_OF_CHANGES * float(changes))
    return Membership(1.0 / (1.0 + chances), nearest, exact)
