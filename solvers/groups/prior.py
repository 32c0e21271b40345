"""How likely partitions are before any reading, and so what it takes to say who is with whom.

All sizes of groups are equally likely: the weight of a partition is the product of a c! over its
groups of c hosts, for one of two weights a of a group: of few groups, and of many. The price of a
partition is the negative logarithm of its share of the weights of all partitions.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import gammaln

from plink.solvers.groups.classes import Floats, Ints

_WEIGHTS = (0.5, 4.0)


def price_partition(labels: Ints, parents: Ints | None = None) -> tuple[float, float]:
    """Return the nats that it takes to say which units are together, and the weight of a group.

    Args:
        labels: (U,) the group of each unit.
        parents: (U,) the group that each unit is known to stay within; None for no limits.
    """
    units = [len(labels)] if parents is None else np.bincount(parents).tolist()
    counts = np.bincount(labels)
    used = counts[counts > 0]
    prices = {
        weight: sum(_log_sum_of_weights(count, weight) for count in units)
        - float(log_weights(used, weight).sum())
        for weight in _WEIGHTS
    }
    likeliest = min(_WEIGHTS, key=lambda weight: prices[weight])
    return prices[likeliest] + float(np.log(len(_WEIGHTS))), likeliest


def log_weights(counts: Ints, weight: float) -> Floats:
    """Return log(a c!), by which groups of c units make a partition likelier."""
    weights: Floats = gammaln(counts + 1.0) + np.log(weight)
    return weights


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
