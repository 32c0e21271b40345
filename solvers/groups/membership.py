"""How sure groups are: whether hosts belong to theirs, and whether all are exactly right.

The log odds of a change (a host in another group or alone, two groups joined, one dissolved) are
what it would cost. They count for less than they say, because readings share hosts and moments: by
how much was fitted to networks that were drawn with known groups (`docs/benchmarks/groups.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plink.solvers.groups.classes import Floats, Ints
from plink.solvers.groups.grouping import ALONE
from plink.solvers.groups.partitions import (
    Pairs,
    costs_of_joining,
    log_odds_of_joining,
    sum_rows,
)

_WEIGHT = 0.56
_SHARE_OF_CHANGES = 0.53


@dataclass(frozen=True)
class Membership:
    """How sure groups are, given that there are some.

    Args:
        of_hosts: (N,) the probability that each host belongs where it is.
        nearest: (N, 2) the two groups that each host suits best, `ALONE` where there are fewer.
        exact: the probability that all groups are exactly right.
    """

    of_hosts: Floats
    nearest: Ints
    exact: float


def weigh_membership(pairs: Pairs, labels: Ints) -> Membership:
    """Weigh groups against what is nearest to them.

    Args:
        pairs: the readings; of whole hosts, with `units` left out.
        labels: (U,) the group of each unit, 0 ... k-1.
    """
    size = len(labels)
    cost, matrix = pairs.evaluate(labels)
    if not np.isfinite(cost):
        return Membership(np.ones(size), np.full((size, 2), ALONE), 0.0)
    groups, weight = int(labels.max()) + 1, pairs.likeliest_weight(labels)
    counts = np.bincount(labels, minlength=groups)
    units = np.arange(size)
    is_alone = counts[labels] == 1
    gain = np.full((size, groups + 1), np.log(weight))
    to_groups = sum_rows(matrix, labels, groups).T
    gain[:, :groups] = to_groups + log_odds_of_joining(counts, weight)
    gain[units, labels] = to_groups[units, labels] + log_odds_of_joining(counts[labels] - 1, weight)
    gain[units[is_alone], labels[is_alone]] = np.log(weight)
    gain[is_alone, groups] = -np.inf
    own = gain[units, labels]
    rest = gain.copy()
    rest[units, labels] = -np.inf
    chances = np.exp(_WEIGHT * np.clip(rest - own[:, None], -500.0, 20.0))
    of_hosts = 1.0 / (1.0 + chances.sum(axis=1))
    joining = costs_of_joining(to_groups, labels, weight)
    changes = np.concatenate([own - rest.max(axis=1), joining[np.triu_indices(groups)][:]])
    changes = np.clip(changes, -5.0, 1000.0)
    exact = 1.0 / (1.0 + _SHARE_OF_CHANGES * float(np.exp(-_WEIGHT * changes).sum()))
    to_groups = np.where(counts[None, :] > 1, gain[:, :groups], -np.inf)
    nearest = np.full((size, 2), ALONE)
    order = np.argsort(-to_groups, axis=1, kind="stable")[:, :2]
    is_group = np.isfinite(np.take_along_axis(to_groups, order, axis=1))
    nearest[:, : order.shape[1]] = np.where(is_group, order, ALONE)
    return Membership(of_hosts, nearest, exact)
