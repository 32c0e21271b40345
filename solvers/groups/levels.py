"""Discovery of groups of near hosts in readings: nested levels with probabilities, or none.

1. *Distances.* The logarithm of the least reading of a pair: noise multiplies, and only adds.
2. *Tree.* Average linkage on these (`partitions`).
3. *Number of groups.* The cut whose two classes of readings, within and between groups, cost least
   (`densities`), improved by moving hosts (`partitions`), with the times of slow hosts taken out.
4. *How sure.* What is gained on the best explanation without groups (`rivals`), and what the next
   best groups would cost (`partitions`).
5. *Levels.* The same again between the groups that were found, and within them.

What each of these is worth stands in docs/benchmarks/groups.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.densities import Floats, Ints, Mask
from plink.solvers.groups.grouping import ALONE, Labels, Matrix, check_distances, renumber
from plink.solvers.groups.partitions import Membership, Pairs, find_partition, weigh_membership
from plink.solvers.groups.rivals import add_times, cost_points, fit_times, price_times

# Below, an answer is a guess and not given.
LIKELY = 0.8
SURE = 0.95
# A wider level is taken if it costs less than this share of a finer one: the finer one leaves more
# of the traffic within groups.
_CLEARLY_CHEAPER = 0.75
# Three distances are always two near ones, or a near one and two far ones.
_LEAST_HOSTS = 4
_LEAST_PAIRS = 6
# A distance so many times less or more than the median counts as just that.
_MOST_TIMES_LESS, _MOST_TIMES_MORE = 1e3, 1e6
# Levels that are less likely to be exactly right are not given. Where fewer pairs were measured, it
# is the pairs that are too few.
_MOST_SAMPLED, _LEAST_EXACT = 0.6, 0.35
# Of two levels one has at least this many times the other's groups.
_LEAST_RATIO = 1.5
# Log odds of groups before any reading: most networks that are measured have some.
_LOG_ODDS = 1.0
# Nats that cutting evenly growing distances in two may gain for each reading within groups, beyond
# the first few readings.
_GAIN_ON_EVEN, _FEW_READINGS = 0.2, 8
# Of more hosts so many are placed as points, and so many of a group.
_MOST_PLACED, _MOST_OF_GROUP = 64, 8

EQUAL = "all hosts are equally far from each other"
LATENCIES = "each host adds a time of its own"
SPACE = "hosts are points in a space without borders"


@dataclass(frozen=True)
class Level:
    """One level of nested groups: a partition of all hosts, with probabilities.

    Args:
        labels: (N,) each host's group; `ALONE` for a host that is near no other.
        of_groups: (k,) the probability that each is a group.
        of_hosts: (N,) the probability that each host belongs where it is, given the groups.
        nearest: (N, 2) the two groups that each host suits best.
        probability: that all groups are exactly these.
    """

    labels: Labels
    of_groups: npt.NDArray[np.float64]
    of_hosts: npt.NDArray[np.float64]
    nearest: Ints
    probability: float

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

    @property
    def alone(self) -> int:
        """Number of hosts in no group."""
        return int((self.labels == ALONE).sum())


@dataclass(frozen=True)
class Discovery:
    """Result of the discovery of groups: the nested levels, if any, and how probable they are.

    Args:
        levels: the fewest groups first; empty where groups are less than likely.
        probability: that there are groups, and exactly these; where there are no levels, that
            there are groups.
        rival: the best explanation without groups, in words.
        is_too_sparse: there are groups, but too few pairs were measured to say which.
    """

    levels: Sequence[Level]
    probability: float
    rival: str
    is_too_sparse: bool = False


def discover(distance: Matrix, is_measured: Mask | None = None) -> Discovery:
    """Discover the nested levels of groups of near hosts that readings show, if any.

    Args:
        distance: (N, N), symmetric, finite, zero diagonal; what was not measured may be anything.
        is_measured: (N, N) which of them were measured and so are evidence; None for all.

    Raises:
        ValueError: not such a matrix.
    """
    check_distances(distance)
    size = len(distance)
    between = ~np.eye(size, dtype=bool)
    measured = between if is_measured is None else is_measured & between
    known = distance[measured & (distance > 0.0)]
    if size < _LEAST_HOSTS or not known.size:
        return Discovery((), 0.0, EQUAL)
    median = float(np.clip(np.median(known), 1e-9, 1e300))
    logs = np.log(np.clip(distance, median / _MOST_TIMES_LESS, median * _MOST_TIMES_MORE))
    logs = np.where(measured, logs, 0.0)
    best = _explain_with_times(logs, measured)
    probability = best.probability
    if probability < LIKELY:
        return Discovery((), probability, best.rival)
    own = best.host_labels
    # The times of slow hosts say nothing of the lesser distances within groups.
    chain = [
        *_search_between(logs, measured, coarse=own),
        best,
        *_search_between(best.pairs.logs, measured, fine=own),
    ]
    probability *= _convert_nats(_gain_on_points(best, chain, logs, measured))
    if probability < LIKELY:
        return Discovery((), probability, SPACE)
    levels = [_describe_level(each, min(each.probability, probability)) for each in chain]
    kept = _select_levels(levels, [each.rival_cost - each.cost for each in chain])
    if not kept:
        is_sampled = int(measured.sum()) < _MOST_SAMPLED * size * (size - 1)
        likeliest = max(level.probability for level in levels)
        return Discovery((), likeliest, best.rival, is_too_sparse=is_sampled)
    return Discovery(kept, choose_level(kept).probability, best.rival)


def _select_levels(levels: Sequence[Level], gains: Sequence[float]) -> list[Level]:
    """Return the distinct levels that are probable enough to be exact, the fewest groups first.

    Of levels with about as many groups the one that gains most is kept: others say the same.
    """
    kept: dict[int, Level] = {}
    for place in np.argsort(gains)[::-1]:
        level, parts = levels[place], levels[place].groups + levels[place].alone
        is_distinct = all(max(parts, each) >= _LEAST_RATIO * min(parts, each) for each in kept)
        if is_distinct and level.probability >= _LEAST_EXACT:
            kept[parts] = level
    return [kept[parts] for parts in sorted(kept)]


def choose_level(levels: Sequence[Level]) -> Level:
    """Return the level to aggregate on: the finest, unless a wider one is clearly cheaper."""
    chosen, *wider = sorted(levels, key=lambda level: -level.groups - level.alone)
    for level in wider:
        if count_messages(level.labels) < _CLEARLY_CHEAPER * count_messages(chosen.labels):
            chosen = level
    return chosen


def count_messages(labels: Labels) -> int:
    """Return how many messages the busiest global master handles in two-level aggregation.

    Luo 2020, eq. 4.2, n / k + k, for groups of unequal sizes: those of the largest group, and one
    of each group. A host that is alone is a group.
    """
    placed = labels[labels != ALONE]
    largest = int(np.bincount(placed).max(initial=1))
    return largest + int(labels.max()) + 1 + int((labels == ALONE).sum())


@dataclass(frozen=True)
class _Explanation:
    """Groups of one level, with their cost in nats and that of the best explanation without groups.

    Args:
        pairs: the readings without the hosts' times.
        labels: (U,) the group of each unit.
        cost: of the groups and the hosts' times, in nats.
        rival: the best explanation without groups, in words.
        rival_cost: its cost.
        times: (N,) what hosts add to the logarithms of their readings; None for nothing.
    """

    pairs: Pairs
    labels: Ints
    cost: float
    rival: str
    rival_cost: float
    times: Floats | None = None

    @property
    def host_labels(self) -> Ints:
        """Group of each host, (N,)."""
        return self.labels[self.pairs.units]

    @cached_property
    def probability(self) -> float:
        """Probability that there are at least two groups of two or more hosts."""
        labels, gain = self.host_labels, self.rival_cost - self.cost
        if (np.bincount(labels) > 1).sum() < 2 or gain <= 0.0:
            return 0.0
        within = int((self.pairs.upper & (labels[:, None] == labels[None, :])).sum())
        return _convert_nats(gain - _GAIN_ON_EVEN * max(within - _FEW_READINGS, 0))

    @cached_property
    def membership(self) -> Membership:
        """Probability of each unit (a host or a finer group) belonging to its group."""
        return weigh_membership(self.pairs, self.labels)


def _convert_nats(gain: float) -> float:
    """Convert the nats that groups save over explanations without groups to their probability."""
    return float(1.0 / (1.0 + np.exp(-np.clip(_LOG_ODDS + gain, -30.0, 30.0))))


def _explain(pairs: Pairs) -> _Explanation:
    cost, labels = find_partition(pairs)
    return _Explanation(pairs, labels, cost, EQUAL, pairs.densities.one_class_cost)


def _explain_with_times(logs: Floats, is_measured: Mask) -> _Explanation:
    """Find the groups, and the extra latencies of slow hosts, that describe readings best."""
    best = _explain(Pairs(logs, is_measured))
    latencies, times = fit_times(logs, is_measured, np.zeros(len(logs)))
    if latencies < best.rival_cost:
        best = replace(best, rival=LATENCIES, rival_cost=latencies)
    joined = _join_nearest(best.pairs, best.labels)
    is_between = is_measured & (joined[:, None] != joined[None, :])
    for tried in (times, fit_times(logs, is_between, times)[1]):
        if not tried.any():
            continue
        pairs = Pairs(logs - add_times(tried, tried), is_measured)
        cost, labels = find_partition(pairs)
        cost += price_times(tried, pairs.partners, pairs.densities.bandwidth)[0]
        if cost < best.cost:
            best = replace(best, pairs=pairs, labels=labels, cost=cost, times=tried)
    return best


def _join_nearest(pairs: Pairs, labels: Ints) -> Ints:
    """Return the groups with each host that is alone, perhaps a slow one, put into the nearest."""
    counts = np.bincount(labels)
    is_member = (labels[:, None] == np.flatnonzero(counts > 1)).astype(np.float64)
    if not is_member.size:
        return labels
    measured = pairs.is_measured @ is_member
    sums = np.where(pairs.is_measured, pairs.logs, 0.0) @ is_member
    means = np.where(measured > 0, sums / np.maximum(measured, 1.0), np.inf)
    return np.where(counts[labels] == 1, np.flatnonzero(counts > 1)[means.argmin(axis=1)], labels)


def _gain_on_points(
    best: _Explanation, chain: Sequence[_Explanation], logs: Floats, is_measured: Mask
) -> float:
    """Return the nats that nested groups save over a model of hosts as points in a space.

    Args:
        best: one of the levels.
        chain: the levels, the finest first.
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
    """
    labels = best.labels
    some = np.arange(len(labels))
    if len(labels) > _MOST_PLACED:
        # Some of each of some groups, so that there are pairs within groups.
        order, counts = np.argsort(labels, kind="stable"), np.bincount(labels)
        place = some - np.repeat(counts.cumsum() - counts, counts)
        some = order[place < _MOST_OF_GROUP][:_MOST_PLACED]
    square = np.ix_(some, some)
    pairs = Pairs(best.pairs.logs[square], is_measured[square])
    levels = [np.unique(each.host_labels[some], return_inverse=True)[1] for each in chain]
    cost = pairs.cost_levels(levels)
    if best.times is not None:
        cost += price_times(best.times[some], pairs.partners, pairs.densities.bandwidth)[0]
    own = np.unique(labels[some], return_inverse=True)[1]
    return cost_points(logs[square], pairs.is_measured, own) - cost


def _search_between(
    logs: Floats, is_measured: Mask, fine: Ints | None = None, coarse: Ints | None = None
) -> list[_Explanation]:
    """Search for levels of groups between a finer and a coarser one; return the finest first.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        fine: (N,) groups that stay whole; None for hosts.
        coarse: (N,) groups that contain those to find; None for all hosts.
    """
    counted, parents = is_measured, coarse
    if fine is not None:
        counted = counted & (fine[:, None] != fine[None, :])
        if coarse is not None:
            parents = coarse[np.unique(fine, return_index=True)[1]]
    if coarse is not None:
        counted = counted & (coarse[:, None] == coarse[None, :])
    if int(counted.sum()) < 2 * _LEAST_PAIRS:
        return []
    best = _explain(Pairs(logs, counted, fine, parents))
    is_finer = best.labels.max() > best.pairs.parents.max()
    if not is_finer or best.probability < LIKELY or best.membership.exact < _LEAST_EXACT:
        return []
    own = best.host_labels
    finer = _search_between(logs, is_measured, fine, own)
    return [*finer, best, *_search_between(logs, is_measured, own, coarse)]


def _describe_level(best: _Explanation, structure: float) -> Level:
    """Convert the groups of an explanation to a `Level`, given the probability of any groups."""
    units, labels = best.pairs.units, best.host_labels
    counts = np.bincount(labels)
    shown = renumber(np.where(counts[labels] > 1, labels, ALONE))
    # The numbers of groups as they are shown; the last one stands for `ALONE`.
    shown_of = np.full(int(labels.max()) + 2, ALONE)
    shown_of[labels] = shown
    of_hosts = best.membership.of_units[units]
    of_groups = np.array([of_hosts[shown == group].min() for group in range(int(shown.max()) + 1)])
    return Level(
        labels=shown,
        of_groups=structure * of_groups,
        of_hosts=of_hosts,
        nearest=shown_of[best.membership.nearest][units],
        probability=structure * best.membership.exact,
    )
