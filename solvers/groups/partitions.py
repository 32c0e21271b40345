"""The partition of hosts that costs least: cuts of one tree, improved by moves.

Before any reading a partition is the likelier the fewer groups it has, and all sizes of groups are
equally likely: its weight is the product of a c! over its groups of c hosts. The price of saying
who is with whom is the negative logarithm of its share of the weights of all partitions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from scipy.special import gammaln

from plink.solvers.gaps import fill_gaps
from plink.solvers.groups.classes import (
    MOST_NOISE,
    Classes,
    Floats,
    Ints,
    Mask,
)

# The weights of a group, a, to choose from: of few groups, and of many.
_WEIGHTS = (0.5, 4.0)
# Rounds of densities that follow groups, and of groups that follow densities.
_ROUNDS, _FEW_ROUNDS = 6, 3
# Cuts of the tree to start from; of more units than `_MANY` the best one, and few rounds.
_STARTS, _MANY = 3, 128
# Cuts of a tree that are looked at.
_MOST_CUTS = 64
_LEAST_GAIN = 1e-9
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
        # Within groups that are known smaller ones may be in others, at several distances.
        most_noise = MOST_NOISE if parents is None else np.inf
        self.classes = Classes(logs[self.upper], most_noise)
        # Pairs that do not count have a bin of their own, the last.
        self.bins = np.where(is_measured, self.classes.bins_of(logs), self.classes.count)
        self.of_hosts = units is None
        self.units = np.arange(len(logs)) if units is None else units
        self.size = int(self.units.max()) + 1
        self.parents = np.zeros(self.size, dtype=np.int64) if parents is None else parents

    def price(self, labels: Ints) -> float:
        """Return the nats that it takes to say which units are together."""
        return self._price_with(self.likeliest_weight(labels), labels) + float(
            np.log(len(_WEIGHTS))
        )

    def likeliest_weight(self, labels: Ints) -> float:
        """Return the weight of a group under which a partition is likeliest."""
        return min(_WEIGHTS, key=lambda weight: self._price_with(weight, labels))

    def _price_with(self, weight: float, labels: Ints) -> float:
        return sum(
            _price(np.bincount(labels[self.parents == parent]), weight)
            for parent in range(int(self.parents.max()) + 1)
        )

    def evaluate(self, labels: Ints) -> tuple[float, Floats]:
        """Return the cost of a partition of the units, and (U, U) log odds of being together."""
        of_hosts = labels[self.units].astype(np.int32)
        is_within = of_hosts[:, None] == of_hosts[None, :]
        bins, count = self.bins[is_within], self.classes.count
        within = np.bincount(bins, minlength=count + 1)[:count] / 2.0
        cost, own, new = self.classes.odds(within)
        odds = np.append(new, 0.0)[self.bins]
        odds[is_within] = np.append(own, 0.0)[bins]
        if not self.of_hosts:
            odds = self._of_units(odds)
        np.fill_diagonal(odds, 0.0)
        if self.parents.any():
            odds[self.parents[:, None] != self.parents[None, :]] = _NEVER
        return cost + self.price(labels), odds

    def _of_units(self, matrix: Floats) -> Floats:
        """Return (U, U) the sums of a symmetric matrix of hosts over the hosts of units."""
        return sum_rows(sum_rows(matrix, self.units, self.size).T, self.units, self.size)

    def tree_distances(self) -> Floats:
        """Return (U, U) distances without gaps; units of different parents are farthest."""
        logs, is_measured = self.logs, self.is_measured
        if not self.of_hosts:
            counts = self._of_units(is_measured.astype(np.float64))
            sums = self._of_units(np.where(is_measured, logs, 0.0))
            is_measured = counts > 0
            logs = sums / np.maximum(counts, 1.0)
        is_apart = self.parents[:, None] != self.parents[None, :]
        least, most = float(logs[is_measured].min()), float(logs[is_measured].max())
        known = np.where(is_measured, logs - least, np.nan)
        # As far that no third host fills a gap through another parent.
        known[is_apart] = 4.0 * (most - least) + 1.0
        whole, _ = fill_gaps(known)
        np.fill_diagonal(whole, 0.0)
        found: Floats = (whole + whole.T) / 2.0
        return found

    def nested_cost(self, levels: list[Ints]) -> float:
        """Return the cost of nested partitions of hosts, with a class of readings for each level.

        Args:
            levels: (N,) labels each, the finest first.
        """
        classes, below, counted, cost = self.classes, np.arange(self.size), None, 0.0
        for labels in levels:
            is_within = self.upper & (labels[:, None] == labels[None, :])
            within = np.bincount(self.bins[is_within], minlength=classes.count).astype(np.float64)
            if counted is None:
                cost += float(classes.costs(within[None], (classes.all - within)[None])[0])
            else:
                cost += classes.cost_of_one(within - counted)
                cost += classes.cost_of_one(classes.all - within)
                cost -= classes.cost_of_one(classes.all - counted)
            counted = within
            # Only groups of the level below can be together.
            counts = np.bincount(labels[np.unique(below, return_index=True)[1]])
            cost += min(_price(counts, weight) for weight in _WEIGHTS) + np.log(len(_WEIGHTS))
            below = labels
        return cost


def sum_rows(matrix: Floats, labels: Ints, groups: int) -> Floats:
    """Return (k, M) the sums over the rows of each group.

    Args:
        matrix: (N, M).
        labels: (N,) the group of each row; each of 0 ... k-1 has one.
        groups: k.
    """
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(groups))
    found: Floats = np.add.reduceat(matrix[order], starts, axis=0)
    return found


def best_partition(
    pairs: Pairs, also: Ints | None = None, starts: int = _STARTS, rounds: int = _ROUNDS
) -> tuple[float, Ints]:
    """Return the least cost and its (U,) labels; one class and the parents where nothing is better.

    Args:
        pairs: what was measured.
        also: another partition to start from.
        starts: how many cuts of the tree to start from.
        rounds: how often groups follow densities.
    """
    best = pairs.classes.one_class_cost, pairs.parents.copy()
    begin = []
    if pairs.size > 2:
        cuts = _cuts(pairs)[:starts]
        if pairs.size > _MANY:
            cuts, rounds = [cut for cut in cuts[:1] if cut[0] < best[0]], min(rounds, _FEW_ROUNDS)
        begin = [labels for _, labels in cuts]
    if also is not None:
        begin.append(also)
    for start in begin:
        labels, lowest = start, np.inf
        for _ in range(rounds):
            cost, odds = pairs.evaluate(labels)
            if cost >= lowest - 1e-6:
                break
            lowest = cost
            if cost < best[0]:
                best = cost, labels
            labels = _moved(odds, labels, pairs.likeliest_weight(labels))
    return best


def _cuts(pairs: Pairs) -> list[tuple[float, Ints]]:
    """Return the costs and labels of the cuts of the average-linkage tree, the cheapest first."""
    size, classes = pairs.size, pairs.classes
    merges = linkage(squareform(pairs.tree_distances(), checks=False), "average")
    steps = size - int(pairs.parents.max()) - 1
    # The step at which two units are joined.
    merges[:, 2] = np.arange(size - 1)
    joined = squareform(cophenet(merges)).astype(np.int32)
    of_hosts = joined if pairs.of_hosts else joined[np.ix_(pairs.units, pairs.units)]
    flat = (of_hosts * classes.count + pairs.bins)[pairs.upper & (of_hosts < steps)]
    counts = np.bincount(flat, minlength=steps * classes.count)
    within = counts.reshape(steps, classes.count).cumsum(axis=0)
    is_nearer = classes.is_nearer(within, classes.all - within)
    costs = np.full(steps, np.inf)
    useful = np.flatnonzero(is_nearer)
    for _ in range(2):
        # Where there are many cuts some of them, and then those beside the best.
        some = useful[:: 1 + len(useful) // _MOST_CUTS]
        if len(some):
            chosen = within[some].astype(np.float64)
            costs[some] = classes.costs(chosen, classes.all - chosen)
        best = int(costs.argmin())
        nearby = len(useful) // _MOST_CUTS
        useful = np.arange(max(best - nearby, 0), min(best + nearby + 1, steps))
        useful = useful[is_nearer[useful]]
    found = []
    for step in np.argsort(costs)[: 4 * _STARTS]:
        if np.isfinite(costs[step]):
            first = (joined <= step).argmax(axis=1)
            labels = np.unique(np.minimum(first, np.arange(size)), return_inverse=True)[1]
            found.append((costs[step] + pairs.price(labels), labels))
    return sorted(found, key=lambda cut: cut[0])


def _moved(odds: Floats, labels: Ints, weight: float) -> Ints:
    """Move units between groups, join groups and dissolve them while that pays.

    Args:
        odds: (U, U) log odds of two units being together, zero diagonal.
        labels: (U,) the partition to begin with.
        weight: of a group.
    """
    labels = labels.copy()
    units = np.arange(len(labels))
    groups = 0
    for _ in range(2 * len(labels)):
        if not groups:
            labels = np.unique(labels, return_inverse=True)[1]
            groups = int(labels.max()) + 1
            # The last column is that of a new group.
            to_groups = np.zeros((len(labels), groups + 1))
            to_groups[:, :groups] = sum_rows(odds, labels, groups).T
        counts = np.bincount(labels, minlength=groups + 1)
        gain = to_groups + log_odds_of_joining(counts, weight)
        stay = to_groups[units, labels] + log_odds_of_joining(counts[labels] - 1, weight)
        gain[units, labels] = stay
        target, best = gain.argmax(axis=1), gain.max(axis=1) - stay
        movable = np.flatnonzero(best > _LEAST_GAIN)
        if len(movable):
            is_touched = np.zeros(groups + 1, dtype=bool)
            for unit in movable[np.argsort(-best[movable])]:
                both = [labels[unit], target[unit]]
                if not is_touched[both].any():
                    is_touched[both] = True
                    to_groups[:, both[0]] -= odds[unit]
                    to_groups[:, both[1]] += odds[unit]
                    labels[unit] = both[1]
            groups = 0 if is_touched[-1] else groups
            continue
        costs = costs_of_joining(to_groups[:, :groups], labels, weight)
        one, other = np.unravel_index(int(costs.argmin()), costs.shape)
        if costs[one, other] > -_LEAST_GAIN:
            break
        hosts = labels == one
        if one == other:
            labels[hosts] = groups + np.arange(int(hosts.sum()))
            groups = 0
        else:
            labels[hosts] = other
            to_groups[:, other] += to_groups[:, one]
            to_groups[:, one] = 0.0
    return np.unique(labels, return_inverse=True)[1]


def costs_of_joining(to_groups: Floats, labels: Ints, weight: float) -> Floats:
    """Return (k, k) what it costs to join two groups; on the diagonal, to dissolve one.

    Args:
        to_groups: (U, k) sums of each unit's log odds of being together with those of a group.
        labels: (U,) the group of each unit; a group without units costs infinitely much.
        weight: of a group.
    """
    groups = to_groups.shape[1]
    counts = np.bincount(labels, minlength=groups).astype(np.float64)
    between = np.zeros((groups, groups))
    np.add.at(between, labels, to_groups)
    weights = _log_weights(counts, weight)
    costs = weights[:, None] + weights[None, :] - between
    costs -= _log_weights(counts[:, None] + counts[None, :], weight)
    costs[counts == 0] = np.inf
    costs[:, counts == 0] = np.inf
    apart = between.diagonal() / 2.0 + weights - counts * np.log(weight)
    np.fill_diagonal(costs, np.where(counts > 1, apart, np.inf))
    found: Floats = costs
    return found


def log_odds_of_joining(counts: Ints, weight: float) -> Floats:
    """Return the log odds, before any reading, of joining groups of so many units, or none."""
    found: Floats = np.log(np.where(counts > 0, counts + 1.0, weight))
    return found


def _log_weights(counts: Floats, weight: float) -> Floats:
    """Return the log weights of groups of so many units in the price of a partition."""
    found: Floats = gammaln(np.maximum(counts, 1.0) + 1.0) + np.log(weight)
    return found


def _price(counts: Ints, weight: float) -> float:
    used = counts[counts > 0].astype(np.float64)
    return _log_sum_of_weights(int(used.sum()), weight) - float(_log_weights(used, weight).sum())


@cache
def _log_sum_of_weights(units: int, weight: float) -> float:
    """Return the logarithm of the weights of all partitions of so many units.

    The sums s_n have the generating function exp(a x / (1 - x)), so that
    s_n = (2 n - 2 + a) s_(n-1) - (n - 1) (n - 2) s_(n-2).
    """
    total, ratio = 0.0, 1.0
    for number in range(1, units + 1):
        ratio = 2 * number - 2 + weight - (number - 1) * (number - 2) / ratio
        total += float(np.log(ratio))
    return total
