"""The partition of hosts that costs least: cuts of one tree, improved by moves.

The price of saying who is with whom is that of a Chinese restaurant process: the nth host joins a
group of c hosts with probability c / (n - 1 + a), or begins one with a / (n - 1 + a).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from scipy.special import gammaln

from plink.solvers.gaps import filled
from plink.solvers.groups.classes import Classes, Floats, Ints, Mask

NEW_GROUP = 2.0
# Rounds of densities that follow groups, and of groups that follow densities.
_ROUNDS = 6
_SWEEPS = 8
_STARTS = 3


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
        self.first, self.second = np.nonzero(np.triu(is_measured, 1))
        self.classes = Classes(logs[self.first, self.second])
        self.units = np.arange(len(logs)) if units is None else units
        self.size = int(self.units.max()) + 1
        self.parents = np.zeros(self.size, dtype=np.int64) if parents is None else parents
        self.pair_units = self.units[self.first], self.units[self.second]

    def price(self, labels: Ints) -> float:
        """Return the nats that it takes to say which units are together."""
        return sum(
            _price(np.bincount(labels[self.parents == parent]))
            for parent in range(int(self.parents.max()) + 1)
        )

    def evaluate(self, labels: Ints) -> tuple[float, Floats]:
        """Return the cost of a partition of the units, and each pair's log odds of being within."""
        one, other = self.pair_units
        cost, odds = self.classes.split(labels[one] == labels[other])
        return cost + self.price(labels), odds

    def nested_cost(self, levels: Sequence[Ints]) -> float:
        """Return the cost of nested partitions, with a class of readings for each level.

        Args:
            levels: (U,) labels each, the finest first.
        """
        classes = self.classes
        one, other = self.pair_units
        class_of = np.full(len(one), len(levels))
        for place in reversed(range(len(levels))):
            class_of[levels[place][one] == levels[place][other]] = place
        flat = class_of * classes.count + classes.bins
        counts = np.bincount(flat, minlength=(len(levels) + 1) * classes.count)
        histograms = counts.reshape(len(levels) + 1, classes.count).astype(np.float64)
        found = float(classes.costs(histograms[:1], is_within=True).sum())
        found += float(classes.costs(histograms[1:], is_within=False).sum())
        below = np.arange(self.size)
        for labels in levels:
            # Only groups of the level below can be together.
            found += _price(np.bincount(labels[np.unique(below, return_index=True)[1]]))
            below = labels
        return found

    def unit_odds(self, odds: Floats) -> Floats:
        """Return (U, U) the sums of the pairs' log odds between units."""
        one, other = self.pair_units
        flat = np.bincount(one * self.size + other, weights=odds, minlength=self.size**2)
        found = flat.reshape(self.size, self.size)
        found += found.T.copy()
        np.fill_diagonal(found, 0.0)
        found[self.parents[:, None] != self.parents[None, :]] = -1e3
        return np.asarray(found, dtype=np.float64)


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
    begin = [labels for _, labels in _cuts(pairs)[:starts]] if pairs.size > 2 else []
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
            if rounds == 1:
                break
            labels = _moved(pairs.unit_odds(odds), labels)
    return best


def _cuts(pairs: Pairs) -> list[tuple[float, Ints]]:
    """Return the costs and labels of the cuts of the average-linkage tree, the cheapest first."""
    size, classes = pairs.size, pairs.classes
    distance = tree_distances(pairs)
    merges = linkage(squareform(distance, checks=False), "average")
    parents = int(pairs.parents.max()) + 1
    members = [[unit] for unit in range(size)]
    joined = np.full((size, size), size)
    steps = merges[: size - parents, :2].astype(np.int64)
    for step, (left, right) in enumerate(steps):
        joined[np.ix_(members[left], members[right])] = step
        members.append(members[left] + members[right])
    joined = np.minimum(joined, joined.T)
    one, other = pairs.pair_units
    step_of = joined[one, other]
    is_joined = step_of < size
    flat = step_of[is_joined] * classes.count + classes.bins[is_joined]
    counts = np.bincount(flat, minlength=len(steps) * classes.count)
    within = counts.reshape(len(steps), classes.count).cumsum(axis=0).astype(np.float64)
    between = classes.all - within
    useful = np.flatnonzero(classes.is_nearer(within, between))
    if not len(useful):
        return []
    costs = classes.costs(within[useful], is_within=True)
    costs += classes.costs(between[useful], is_within=False)
    found = []
    for cost, step in sorted(zip(costs, useful.tolist(), strict=True))[: 4 * _STARTS]:
        labels = np.arange(size)
        for new in range(size, size + step + 1):
            labels[members[new]] = members[new][0]
        labels = np.unique(labels, return_inverse=True)[1]
        found.append((cost + pairs.price(labels), labels))
    return sorted(found, key=lambda cut: cut[0])


def tree_distances(pairs: Pairs) -> Floats:
    """Return (U, U) distances without gaps; units of different parents are farthest."""
    size, logs, is_measured = pairs.size, pairs.logs, pairs.is_measured
    if size < len(logs):
        hot = np.eye(size)[pairs.units]
        counts = hot.T @ is_measured @ hot
        sums = hot.T @ np.where(is_measured, logs, 0.0) @ hot
        is_measured = counts > 0
        logs = sums / np.maximum(counts, 1.0)
    whole, _ = filled(np.where(is_measured, logs, np.nan))
    whole -= whole[~np.eye(size, dtype=bool)].min()
    whole[pairs.parents[:, None] != pairs.parents[None, :]] = 4.0 * whole.max() + 1.0
    np.fill_diagonal(whole, 0.0)
    found: Floats = (whole + whole.T) / 2.0
    return found


def _moved(odds: Floats, labels: Ints) -> Ints:
    """Move units between groups, join groups and dissolve them while that pays.

    Args:
        odds: (U, U) log odds of two units being together, zero diagonal.
        labels: (U,) the partition to begin with.
    """
    size = len(labels)
    for _ in range(_SWEEPS):
        before = labels
        labels = np.unique(labels, return_inverse=True)[1]
        groups = int(labels.max()) + 2
        to_groups = odds @ np.eye(groups)[labels]
        counts = np.bincount(labels, minlength=groups)
        for unit in range(size):
            own = int(labels[unit])
            counts[own] -= 1
            gain = to_groups[unit] + np.log(np.where(counts > 0, counts, NEW_GROUP))
            gain[counts == 0] = np.log(NEW_GROUP)
            target = int(gain.argmax())
            if gain[target] > gain[own] + 1e-9:
                to_groups[:, own] -= odds[:, unit]
                to_groups[:, target] += odds[:, unit]
                labels[unit] = target
            counts[labels[unit]] += 1
        labels = _joined(odds, np.unique(labels, return_inverse=True)[1])
        if (
            len(np.unique(np.stack([before, labels]), axis=1).T)
            == len(np.unique(labels))
            == len(np.unique(before))
        ):
            break
    return labels


def _joined(odds: Floats, labels: Ints) -> Ints:
    """Join two groups, or dissolve one, while that pays."""
    while True:
        costs = costs_of_joining(odds, labels)
        one, other = np.unravel_index(int(costs.argmin()), costs.shape)
        if costs[one, other] > -1e-9:
            return labels
        groups = len(costs)
        labels = labels.copy()
        hosts = labels == one
        labels[hosts] = groups + np.arange(int(hosts.sum())) if one == other else other
        labels = np.unique(labels, return_inverse=True)[1]


def costs_of_joining(odds: Floats, labels: Ints) -> Floats:
    """Return (k, k) what it costs to join two groups; on the diagonal, to dissolve one.

    Args:
        odds: (U, U) log odds of two units being together, zero diagonal.
        labels: (U,) the group of each unit.
    """
    groups = int(labels.max()) + 1
    hot = np.eye(groups)[labels]
    counts = np.bincount(labels).astype(np.float64)
    logs = gammaln(counts)
    between = hot.T @ odds @ hot
    joined = gammaln(counts[:, None] + counts[None, :]) - logs[:, None] - logs[None, :]
    costs = np.log(NEW_GROUP) - between - joined
    apart = between.diagonal() / 2.0 + logs - (counts - 1.0) * np.log(NEW_GROUP)
    np.fill_diagonal(costs, np.where(counts > 1, apart, np.inf))
    found: Floats = costs
    return found


def _price(counts: Ints) -> float:
    used = counts[counts > 0].astype(np.float64)
    total = used.sum()
    return float(
        gammaln(total + NEW_GROUP)
        - gammaln(NEW_GROUP)
        - gammaln(used).sum()
        - len(used) * np.log(NEW_GROUP)
    )
