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
from plink.solvers.groups.pairs import Pairs
from plink.solvers.groups.partitions import sum_odds, weigh_joins, weigh_moves

# The share of the log odds that counts, and that of all changes that do.
_WEIGHT, _SHARE_OF_CHANGES = 0.56, 0.53


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
