"""The best groups of one level, and by how much they beat the best explanation without groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plink.solvers.groups.classes import Floats, Ints, Mask
from plink.solvers.groups.membership import Membership, weigh_membership
from plink.solvers.groups.partitions import Pairs, best_partition
from plink.solvers.groups.rivals import (
    MOST_PLACED,
    added,
    cost_of_points,
    fit_times,
    median_times,
    price_of_times,
)

EQUAL = "all hosts are equally far from each other"
LATENCIES = "each host adds a time of its own"
SPACE = "hosts are points in a space without borders"
# Hosts of a group that are placed as points, where there are many.
_MOST_OF_GROUP = 8
# A host's time leaves at least this share of a reading.
_LEAST_REST = 0.1


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
    rivals: dict[str, float]

    @property
    def rival(self) -> str:
        """The best explanation without groups."""
        return min(self.rivals, key=lambda name: self.rivals[name])

    @property
    def gain(self) -> float:
        """Nats that the groups gain on the best explanation without groups."""
        return min(self.rivals.values()) - self.cost

    @cached_property
    def membership(self) -> Membership:
        """How sure the units' groups are."""
        return weigh_membership(self.pairs, self.labels)

    @property
    def host_labels(self) -> Ints:
        """(N,) the group of each host."""
        return self.labels[self.pairs.units]


def explain(
    logs: Floats,
    is_measured: Mask,
    units: Ints | None = None,
    parents: Ints | None = None,
    *,
    with_times: bool = False,
) -> Explanation:
    """Find the groups that describe readings best.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        units: (N,) groups that stay whole; None for hosts by themselves.
        parents: (U,) groups to find smaller ones in; None for none.
        with_times: whether hosts may have times of their own.
    """
    plain = Pairs(logs, is_measured, units, parents)
    none = np.zeros(len(logs))
    cost, labels = best_partition(plain)
    rivals = {EQUAL: plain.classes.one_class_cost}
    best = Explanation(labels, none, plain, cost, rivals)
    if int(labels.max()) == int(plain.parents.max()):
        return best
    if with_times:
        latencies, best = _with_times(best, logs, is_measured)
        rivals[LATENCIES] = min(rivals[EQUAL], latencies)
    return best


def _with_times(found: Explanation, logs: Floats, is_measured: Mask) -> tuple[float, Explanation]:
    """Return the cost of hosts' times without groups, and the better explanation with times."""
    none = np.zeros(len(logs))
    without = [
        fit_times(logs, is_measured, none),
        fit_times(logs, is_measured, median_times(logs, is_measured)),
    ]
    partners = float(is_measured.sum(axis=1).mean())
    tried = [none]
    best = found

    def try_times(times: Floats, rest: Floats, stretch: Floats | float = 0.0) -> None:
        nonlocal best
        pairs = Pairs(rest, is_measured)
        cost, labels = best_partition(pairs, best.labels)
        cost += price_of_times(times, partners, pairs.classes.bandwidth)
        cost -= float((stretch * pairs.upper).sum())
        if cost < best.cost:
            best = Explanation(labels, times, pairs, cost, found.rivals)

    for _ in range(2):
        rival = min(without, key=lambda fit: fit[0])[1]
        start = best.times if best.times.any() else rival
        with_groups = fit_times(logs, is_measured, start, _with_nearest(best))[1]
        for times in (rival, with_groups):
            if any((times == other).all() for other in tried):
                continue
            tried.append(times)
            try_times(times, logs - added(times))
            without.append(fit_times(logs, is_measured, times))
    is_between = is_measured & (best.labels[:, None] != best.labels[None, :])
    if best.times.any() and is_between.any():
        # A time adds as much to lesser distances, so it is taken off the readings themselves. That
        # stretches logarithms by x / (x - time), which densities make up for.
        typical = np.exp(float(np.median(best.pairs.logs[is_between])))
        readings = np.exp(logs)
        rest = readings - typical * (np.exp(added(best.times)) - 1.0)
        rest = np.log(np.maximum(rest, _LEAST_REST * readings))
        try_times(best.times, rest, logs - rest)
    return min(fit[0] for fit in without), best


def _with_nearest(found: Explanation) -> Ints:
    """Return (N,) groups in which each host that is alone is with the nearest one."""
    labels, is_measured = found.labels.copy(), found.pairs.is_measured
    counts = np.bincount(labels)
    groups = np.flatnonzero(counts > 1)
    if len(groups):
        hot = (labels[:, None] == groups[None, :]).astype(np.float64)
        pairs = is_measured @ hot
        sums = np.where(is_measured, found.pairs.logs, 0.0) @ hot
        means = np.where(pairs > 0.0, sums / np.maximum(pairs, 1.0), np.inf)
        is_alone = counts[labels] == 1
        labels[is_alone] = groups[means.argmin(axis=1)[is_alone]]
    return labels


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
    # Of many hosts some of each of some groups, so that there are pairs within groups.
    order = np.argsort(found.host_labels, kind="stable")
    counts = np.bincount(found.host_labels)
    place = np.arange(len(logs)) - np.repeat(counts.cumsum() - counts, counts)
    if len(logs) > MOST_PLACED:
        order = order[place < _MOST_OF_GROUP][:MOST_PLACED]
    some = np.sort(order)
    square = np.ix_(some, some)
    pairs = Pairs(found.pairs.logs[square], is_measured[square])
    cost = pairs.nested_cost([np.unique(labels[some], return_inverse=True)[1] for labels in levels])
    if found.times.any():
        partners = float(is_measured[square].sum(axis=1).mean())
        cost += price_of_times(found.times[some], partners, pairs.classes.bandwidth)
    return cost_of_points(logs[square], is_measured[square], found.host_labels[some]) - cost
