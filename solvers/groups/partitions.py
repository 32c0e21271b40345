"""The partition of hosts that costs least: the best cut of one tree, improved by moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from plink.solvers.groups.classes import Floats, Ints, log_weights
from plink.solvers.groups.grouping import ALONE
from plink.solvers.groups.pairs import Pairs, sum_rows

# Rounds of densities that follow groups, and of groups that follow densities.
_ROUNDS = 3
_LEAST_GAIN = 1e-9

# The share of the log odds that counts, and that of all changes that do.
_WEIGHT, _SHARE_OF_CHANGES = 0.56, 0.53


def find_partition(pairs: Pairs, also: Ints | None = None) -> tuple[float, Ints]:
    """Return the cost in nats of the cheapest partition and its (U,) labels.

    Where no partition costs less than one class of readings, these are the parents of the units.

    Args:
        pairs: what was measured.
        also: (U,) another partition to start from.
    """
    best = pairs.classes.one_class_cost, pairs.parents.copy()
    for start in [_cut_tree(pairs), *([] if also is None else [also])]:
        labels, lowest = start, np.inf
        for _ in range(_ROUNDS):
            cost, odds, weight = pairs.evaluate(labels)
            if cost >= lowest - 1e-6:
                break
            lowest = cost
            if cost < best[0]:
                best = cost, labels
            labels = move_units(odds, labels, weight)
    return best


def _cut_tree(pairs: Pairs) -> Ints:
    """Return the labels of the cut of the average-linkage tree whose readings cost least."""
    size = pairs.size
    steps = size - int(pairs.parents.max()) - 1
    if size < 3 or steps < 1:
        return pairs.parents
    merges = linkage(squareform(pairs.fill_distances(), checks=False), "average")
    # The step at which two units are joined stands for their distance.
    merges[:, 2] = np.arange(size - 1)
    joined = squareform(cophenet(merges)).astype(np.int64)
    within = pairs.count_within(joined, steps)
    useful = np.flatnonzero(pairs.classes.are_nearer(within))
    if not len(useful):
        return pairs.parents
    cut = useful[pairs.classes.cost_splits(within[useful]).argmin()]
    # A unit is named after the first one that it is with.
    first = np.minimum((joined <= cut).argmax(axis=1), np.arange(size))
    return np.unique(first, return_inverse=True)[1]


def move_units(odds: Floats, labels: Ints, weight: float) -> Ints:
    """Return the partition after moves of units, joins and dissolutions of groups that pay.

    Args:
        odds: (U, U) log odds of two units being together, zero diagonal.
        labels: (U,) the partition to begin with.
        weight: of a group, before any reading.
    """
    labels = labels.copy()
    units, groups = np.arange(len(labels)), 0
    for _ in range(2 * len(labels)):
        if not groups:
            labels = np.unique(labels, return_inverse=True)[1]
            groups = int(labels.max()) + 1
            to_groups = sum_odds(odds, labels)
        gain = weigh_moves(to_groups, labels, weight)
        target = gain.argmax(axis=1)
        best = gain[units, target] - gain[units, labels]
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
        costs = weigh_joins(to_groups[:, :groups], labels, weight)
        one, other = np.unravel_index(int(costs.argmin()), costs.shape)
        if costs[one, other] > -_LEAST_GAIN:
            break
        is_one = labels == one
        if one == other:
            labels[is_one] = groups + np.arange(int(is_one.sum()))
            groups = 0
        else:
            labels[is_one] = other
            to_groups[:, other] += to_groups[:, one]
            to_groups[:, one] = 0.0
    return np.unique(labels, return_inverse=True)[1]


def sum_odds(odds: Floats, labels: Ints) -> Floats:
    """Return (U, k + 1) sums of each unit's log odds with those of each group, and of a new one."""
    groups = int(labels.max()) + 1
    sums: Floats = np.pad(sum_rows(odds, labels, groups).T, ((0, 0), (0, 1)))
    return sums


def weigh_moves(to_groups: Floats, labels: Ints, weight: float) -> Floats:
    """Return (U, k + 1) log odds, up to a constant, of each unit being in each group.

    Args:
        to_groups: (U, k + 1) as `sum_odds` returns them.
        labels: (U,) the group of each unit.
        weight: of a group, before any reading.
    """
    counts, units = np.bincount(labels, minlength=to_groups.shape[1]), np.arange(len(labels))
    gain: Floats = to_groups + np.log(np.where(counts > 0, counts + 1.0, weight))
    stay = np.log(np.where(counts > 1, counts, weight))
    gain[units, labels] = (to_groups + stay)[units, labels]
    return gain


def weigh_joins(to_groups: Floats, labels: Ints, weight: float) -> Floats:
    """Return (k, k) what it costs to join two groups; on the diagonal, to dissolve one.

    Args:
        to_groups: (U, k) sums of each unit's log odds of being together with those of a group.
        labels: (U,) the group of each unit; a group without units costs infinitely much.
        weight: of a group, before any reading.
    """
    groups = to_groups.shape[1]
    counts = np.bincount(labels, minlength=groups)
    between = np.zeros((groups, groups))
    np.add.at(between, labels, to_groups)
    weights = log_weights(counts, weight)
    costs = weights[:, None] + weights[None, :] - between
    costs -= log_weights(counts[:, None] + counts[None, :], weight)
    costs[counts == 0], costs[:, counts == 0] = np.inf, np.inf
    apart = between.diagonal() / 2.0 + weights - counts * np.log(weight)
    np.fill_diagonal(costs, np.where(counts > 1, apart, np.inf))
    joins: Floats = costs
    return joins


@dataclass(frozen=True)
class Membership:
    """How sure groups are, given that there are some.

    Args:
        of_units: (U,) the probability that each unit belongs where it is.
        nearest: (U, 2) the two groups that each unit suits best, `ALONE` where there are fewer.
        exact: the probability that all groups are exactly right.
    """

    of_units: Floats
    nearest: Ints
    exact: float


def weigh_membership(pairs: Pairs, labels: Ints) -> Membership:
    """Weigh groups against what is nearest to them.

    Args:
        pairs: the readings.
        labels: (U,) the group of each unit, 0 ... k-1.
    """
    size, groups = len(labels), int(labels.max()) + 1
    cost, odds, weight = pairs.evaluate(labels)
    if not np.isfinite(cost):
        return Membership(np.ones(size), np.full((size, 2), ALONE), 0.0)
    counts, units = np.bincount(labels, minlength=groups + 1), np.arange(size)
    to_groups = sum_odds(odds, labels)
    gain = weigh_moves(to_groups, labels, weight)
    own, rest = gain[units, labels], gain.copy()
    rest[units, labels] = -np.inf
    # A unit that is alone has no other group to be alone in.
    rest[counts[labels] == 1, groups] = -np.inf
    chances = np.exp(_WEIGHT * np.clip(rest - own[:, None], -500.0, 20.0))
    joins = weigh_joins(to_groups[:, :groups], labels, weight)[np.triu_indices(groups)]
    changes = np.clip(np.concatenate([own - rest.max(axis=1), joins]), -5.0, 1000.0)
    exact = 1.0 / (1.0 + _SHARE_OF_CHANGES * float(np.exp(-_WEIGHT * changes).sum()))
    suits = np.where(counts > 1, gain, -np.inf)
    best = np.argsort(-suits, axis=1, kind="stable")[:, :2]
    nearest = np.where(np.isfinite(np.take_along_axis(suits, best, axis=1)), best, ALONE)
    return Membership(1.0 / (1.0 + chances.sum(axis=1)), nearest, exact)
