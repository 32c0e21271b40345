"""Groups that readings show: at which levels, how sure they are, or that there are none.

1. *Distances.* The logarithm of the least reading of a pair: noise multiplies, and only adds.
2. *Tree.* Average linkage on these (`partitions`).
3. *Number of groups.* The cut whose two classes of readings, within and between groups, cost least
   (`classes`, `pairs`), improved by moving hosts, with the times of slow hosts taken out
   (`explanation`).
4. *How sure.* What is gained on the best explanation without groups (`explanation`), and what
   the next best groups would cost (`partitions`).
5. *Levels.* The same again between the groups that were found, and within them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.classes import Floats, Ints, Mask
from plink.solvers.groups.explanation import (
    EQUAL,
    SPACE,
    Explanation,
    convert_nats,
    explain,
    explain_with_times,
    gain_on_points,
)
from plink.solvers.groups.grouping import ALONE, Labels, Matrix, check_distances, renumber

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


@dataclass(frozen=True)
class Level:
    """Level of nested groups: one partition of all hosts.

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
    """Result of discovery: the levels of groups that the readings show, if any.

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
    """Find the levels of groups that readings show.

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
    found = explain_with_times(logs, measured)
    probability = found.probability
    if probability < LIKELY:
        return Discovery((), probability, found.rival)
    own = found.host_labels
    finer = _search_between(logs, measured, coarse=own)
    # The times of slow hosts say nothing of the lesser distances within groups.
    wider = _search_between(found.pairs.logs, measured, fine=own)
    chain = [*finer, found, *wider]
    gain = gain_on_points(found, [each.host_labels for each in chain], logs, measured)
    probability *= convert_nats(gain)
    if probability < LIKELY:
        return Discovery((), probability, SPACE)
    levels = _select_levels(chain, probability)
    if not levels:
        is_sampled = int(measured.sum()) < _MOST_SAMPLED * size * (size - 1)
        likeliest = max(_describe_level(each, probability).probability for each in chain)
        return Discovery((), likeliest, found.rival, is_too_sparse=is_sampled)
    return Discovery(levels, choose_level(levels).probability, found.rival)


def _select_levels(chain: Sequence[Explanation], most: float) -> list[Level]:
    """Return the levels that are likely enough to be exact, the fewest groups first.

    Of levels with about as many groups the one with the largest gain is kept: others say the same.

    Args:
        chain: nested groups.
        most: the largest probability that a level may have.
    """
    levels: list[Level] = []
    for found in sorted(chain, key=lambda each: -each.gain):
        level = _describe_level(found, min(found.probability, most))
        parts = level.groups + level.alone
        others = [other.groups + other.alone for other in levels]
        is_distinct = all(max(parts, other) >= _LEAST_RATIO * min(parts, other) for other in others)
        if is_distinct and level.probability >= _LEAST_EXACT:
            levels.append(level)
    return sorted(levels, key=lambda level: level.groups + level.alone)


def choose_level(levels: Sequence[Level]) -> Level:
    """Return the level to aggregate on: the finest, unless a wider one is clearly cheaper."""
    chosen, *wider = sorted(levels, key=lambda level: -level.groups - level.alone)
    for level in wider:
        if count_messages(level.labels) < _CLEARLY_CHEAPER * count_messages(chosen.labels):
            chosen = level
    return chosen


def count_messages(labels: Labels) -> int:
    """Return the messages of the busiest global master of two-level aggregation.

    Luo 2020, eq. 4.2, n / k + k, for groups of unequal sizes: those of the largest group, and one
    of each group. A host that is alone is a group.
    """
    placed = labels[labels != ALONE]
    largest = int(np.bincount(placed).max(initial=1))
    return largest + int(labels.max()) + 1 + int((labels == ALONE).sum())


def _search_between(
    logs: Floats,
    is_measured: Mask,
    fine: Ints | None = None,
    coarse: Ints | None = None,
) -> list[Explanation]:
    """Return the levels between a finer and a coarser one, the finest first.

    Args:
        logs: (N, N) logarithms of the readings.
        is_measured: (N, N) which pairs count.
        fine: (N,) groups that stay whole; None for hosts.
        coarse: (N,) groups that contain those to find; None for all hosts.
    """
    pairs, parents = is_measured, coarse
    if fine is not None:
        pairs = pairs & (fine[:, None] != fine[None, :])
        if coarse is not None:
            parents = coarse[np.unique(fine, return_index=True)[1]]
    if coarse is not None:
        pairs = pairs & (coarse[:, None] == coarse[None, :])
    if int(pairs.sum()) < 2 * _LEAST_PAIRS:
        return []
    found = explain(logs, pairs, fine, parents)
    is_likely = found.is_grouped and found.probability >= LIKELY
    if not is_likely or found.membership.exact < _LEAST_EXACT:
        return []
    own = found.host_labels
    finer = _search_between(logs, is_measured, fine, own)
    return [*finer, found, *_search_between(logs, is_measured, own, coarse)]


def _describe_level(found: Explanation, structure: float) -> Level:
    """Return groups as a level.

    Args:
        found: the groups.
        structure: the probability that there are groups.
    """
    pairs, labels = found.pairs, found.host_labels
    whole = found.membership
    counts = np.bincount(labels)
    shown = renumber(np.where(counts[labels] > 1, labels, ALONE))
    # The numbers of groups as they are shown; the last one stands for `ALONE`.
    shown_of = np.full(int(labels.max()) + 2, ALONE)
    shown_of[labels] = shown
    of_hosts = whole.of_units[pairs.units]
    of_groups = np.array([of_hosts[shown == group].min() for group in range(int(shown.max()) + 1)])
    return Level(
        labels=shown,
        of_groups=structure * of_groups,
        of_hosts=of_hosts,
        nearest=shown_of[whole.nearest][pairs.units],
        probability=structure * whole.exact,
    )
