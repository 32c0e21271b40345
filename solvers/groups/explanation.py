"""The best groups of one level, and by how much they beat the best explanation without groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from plink.solvers.groups.classes import Floats, Ints, Mask
from plink.solvers.groups.membership import Membership, weigh_membership
from plink.solvers.groups.pairs import Pairs
from plink.solvers.groups.partitions import find_partition
from plink.solvers.groups.points import cost_points
from plink.solvers.groups.times import add_times, fit_times, price_times

EQUAL = "all hosts are equally far from each other"
LATENCIES = "each host adds a time of its own"
SPACE = "hosts are points in a space without borders"
# Log odds of groups before any reading: most networks that are measured have some.
_LOG_ODDS = 1.0
# Nats that cutting evenly growing distances in two may gain for each reading within groups, beyond
# the first few readings.
_GAIN_ON_EVEN, _FEW_READINGS = 0.2, 8
# Of more hosts so many are placed as points, and so many of a group.
_MOST_PLACED, _MOST_OF_GROUP = 64, 8


@dataclass(frozen=True)
class Explanation:
    """Groups of one level and what speaks for them.

    Args:
        labels: (U,) the group of each unit.
        times: (N,) what hosts add to the logarithms of their readings; mostly zero.
        pairs: the readings without the hosts' times.
        cost: of the groups, in nats.
        rivals: the cost of each explanation without groups, in words.
    """

    labels: Ints
    times: Floats
    pairs: Pairs
    cost: float
    rivals: Mapping[str, float]

    @property
    def rival(self) -> str:
        """The best explanation without groups."""
        return min(self.rivals, key=lambda name: self.rivals[name])

    @property
    def gain(self) -> float:
        """Nats that the groups gain on the best explanation without groups."""
        return self.rivals[self.rival] - self.cost

    @property
    def is_grouped(self) -> bool:
        """Whether there are more groups than were known before."""
        return int(self.labels.max()) > int(self.pairs.parents.max())

    @cached_property
    def probability(self) -> float:
        """The probability that there are groups: two of two hosts, with half of the hosts."""
        hosts, is_group = np.bincount(self.host_labels), np.bincount(self.labels) > 1
        has_groups = (hosts > 1).sum() >= 2 and 2 * hosts[is_group].sum() >= len(self.host_labels)
        if not has_groups or self.gain <= 0.0:
            return 0.0
        is_within = self.host_labels[:, None] == self.host_labels[None, :]
        within = int((self.pairs.upper & is_within).sum())
        return convert_nats(self.gain - _GAIN_ON_EVEN * max(within - _FEW_READINGS, 0))

    @cached_property
    def membership(self) -> Membership:
        """Certainty of the units' groups."""
        return weigh_membership(self.pairs, self.labels)

    @property
    def host_labels(self) -> Ints:
        """(N,) the group of each host."""
        return self.labels[self.pairs.units]


def convert_nats(gain: float) -> float:
    """Return the probability of groups that gain so many nats on explanations without groups."""
    return float(1.0 / (1.0 + np.exp(-np.clip(_LOG_ODDS + gain, -30.0, 30.0))))


def explain(
    logs: Floats, is_measured: Mask, units: Ints | None = None, parents: Ints | None = None
) -> Explanation:
    """Find the groups that describe readings best.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        units: (N,) groups that stay whole; None for hosts by themselves.
        parents: (U,) groups to find smaller ones in; None for none.
    """
    pairs = Pairs(logs, is_measured, units, parents)
    cost, labels = find_partition(pairs)
    rivals = {EQUAL: pairs.classes.one_class_cost}
    return Explanation(labels, np.zeros(len(logs)), pairs, cost, rivals)


def explain_with_times(logs: Floats, is_measured: Mask) -> Explanation:
    """Find the groups of hosts and the times of hosts that describe readings best.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
    """
    best = explain(logs, is_measured)
    latencies, times = fit_times(logs, is_measured, best.times)
    rivals = {**best.rivals, LATENCIES: min(best.rivals[EQUAL], latencies)}
    best = replace(best, rivals=rivals)
    partners = float(is_measured.sum(axis=1).mean())
    joined = _join_nearest(best)
    is_between = is_measured & (joined[:, None] != joined[None, :])
    for tried in (times, fit_times(logs, is_between, times)[1]):
        if not tried.any():
            continue
        pairs = Pairs(logs - add_times(tried, tried), is_measured)
        cost, labels = find_partition(pairs, best.labels)
        cost += price_times(tried, partners, pairs.classes.bandwidth)
        if cost < best.cost:
            best = Explanation(labels, tried, pairs, cost, rivals)
    return best


def _join_nearest(found: Explanation) -> Ints:
    """Return (N,) groups in which each host that is alone is with the nearest ones."""
    labels, is_measured = found.labels, found.pairs.is_measured
    counts = np.bincount(labels)
    groups = np.flatnonzero(counts > 1)
    if not len(groups):
        return labels
    is_member = (labels[:, None] == groups[None, :]).astype(np.float64)
    means = np.full(is_member.shape, np.inf)
    pairs = is_measured @ is_member
    sums = np.where(is_measured, found.pairs.logs, 0.0) @ is_member
    np.divide(sums, pairs, out=means, where=pairs > 0.0)
    return np.where(counts[labels] == 1, groups[means.argmin(axis=1)], labels)


def gain_on_points(
    found: Explanation, levels: Sequence[Ints], logs: Floats, is_measured: Mask
) -> float:
    """Return the nats that nested groups gain on hosts as points in a space.

    Args:
        found: one of the levels.
        levels: (N,) labels each, the finest first.
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
    """
    some = np.arange(len(logs))
    if len(logs) > _MOST_PLACED:
        # Some of each of some groups, so that there are pairs within groups.
        order = np.argsort(found.host_labels, kind="stable")
        counts = np.bincount(found.host_labels)
        place = some - np.repeat(counts.cumsum() - counts, counts)
        some = np.sort(order[place < _MOST_OF_GROUP][:_MOST_PLACED])
    square = np.ix_(some, some)
    pairs = Pairs(found.pairs.logs[square], is_measured[square])
    cost = pairs.cost_levels([np.unique(labels[some], return_inverse=True)[1] for labels in levels])
    partners = float(pairs.is_measured.sum(axis=1).mean())
    price = price_times(found.times[some], partners, pairs.classes.bandwidth)
    labels = np.unique(found.host_labels[some], return_inverse=True)[1]
    gain = cost_points(logs[square], pairs.is_measured, labels) - cost - price
    if found.times.any():
        # Points that have the same times pay for them as the groups do.
        gain = min(gain, cost_points(pairs.logs, pairs.is_measured, labels) - cost)
    return gain
