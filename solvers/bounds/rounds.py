"""Lower bounds for sums over rounds of the greatest distance of each round.

Let S be a set of rounds, and L(S) a threshold below which the graph of short pairs cannot hold all
edges of S at once, whatever the order. Then the dearest round of S costs at least L(S) per unit of
weight, in every order. So with the rounds of an order sorted by their greatest distances,
cheapest first, the k-th of them costs at least L(the first k), and the least total over all
sequences of rounds is a lower bound; it is found by dynamic programming over sets of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.patterns import Pattern, adjacency, find_digit, kind_of
from plink.solvers.bounds.short_pairs import ShortPairs
from plink.solvers.collectives.form import RoundsForm, merge_rounds
from plink.solvers.limits.deadline import Deadline

Matrix = npt.NDArray[np.float64]

# What sorting distances and clustering hosts takes, for each pair.
_S_PER_PAIR = 1e-6

# With more different rounds than this, not every set is looked at.
_MOST_SETS_OF = 10


def rounds_bound(form: RoundsForm, distance: Matrix, deadline: Deadline) -> float:
    """Return a proven lower bound on every order's cost.

    Args:
        form: with at least two ranks; weights not negative.
        distance: (N, N).
        deadline: when to stop; 0 where so many hosts take longer from the start.
    """
    rounds = merge_rounds(form).rounds
    edges = [step.edges for step in rounds]
    weights = [step.weight for step in rounds]
    if not edges:
        return 0.0
    if deadline.left_s < _S_PER_PAIR * len(distance) ** 2:
        return 0.0
    try:
        hosts = ShortPairs(distance, deadline)
    except TimeoutError:
        return 0.0
    if len(edges) > _MOST_SETS_OF:
        return _one_by_one(form.ranks, edges, weights, hosts, deadline)
    return _by_sets(form.ranks, edges, weights, hosts, deadline)


def _one_by_one(
    ranks: int,
    edges: Sequence[npt.NDArray[np.intp]],
    weights: Sequence[float],
    hosts: ShortPairs,
    deadline: Deadline,
) -> float:
    """Return the greater of two sums: of single rounds' thresholds, and of degrees' thresholds.

    Where no two rounds share an edge, a host has at least so many peers in any k rounds as the rank
    with the fewest; it has them within the k-th cheapest round's distance. The dearest weights are
    taken to fall on the cheapest rounds.
    """
    known: dict[tuple[bytes, bytes], float] = {}
    own = 0.0
    for ends, weight in zip(edges, weights, strict=True):
        threshold = hosts.least_distance
        if not deadline.is_over:
            pattern = Pattern([adjacency(ends, ranks)], [None])
            key = (pattern.degrees.tobytes(), pattern.component_sizes.tobytes())
            if key not in known:
                known[key] = hosts.quick_threshold(pattern)
            threshold = known[key]
        own += weight * threshold
    if len(np.unique(np.concatenate(edges), axis=0)) < sum(map(len, edges)):
        return own
    peers = np.sort([np.bincount(ends.ravel(), minlength=ranks) for ends in edges], axis=0)
    fewest = np.cumsum(peers, axis=0).min(axis=1).tolist()
    thresholds = [max(hosts.least_distance, hosts.degree_threshold(few)) for few in fewest]
    return max(own, float(np.dot(sorted(weights, reverse=True), thresholds)))


def _by_sets(
    ranks: int,
    edges: Sequence[npt.NDArray[np.intp]],
    weights: Sequence[float],
    hosts: ShortPairs,
    deadline: Deadline,
) -> float:
    rounds = [adjacency(ends, ranks) for ends in edges]
    digits = [find_digit(one) for one in rounds]
    patterns: dict[tuple[object, ...], Pattern] = {}
    key_of: dict[int, tuple[object, ...]] = {}
    for chosen in sorted(range(1, 1 << len(edges)), key=lambda one: _turn(one, len(edges))):
        members = _members(chosen)
        of_members = [digits[i] for i in members]
        key_of[chosen] = kind_of(of_members) or (chosen,)
        if key_of[chosen] not in patterns:
            if len(members) > 1 and deadline.is_over:
                break
            patterns[key_of[chosen]] = Pattern([rounds[i] for i in members], of_members)
    threshold = {key: hosts.quick_threshold(pattern) for key, pattern in patterns.items()}
    for improve in (_by_cuts, _by_holding):
        for key, pattern in patterns.items():
            if not deadline.is_over:
                threshold[key] = improve(hosts, pattern, threshold[key], deadline)
    known = {chosen: threshold[key] for chosen, key in key_of.items() if key in threshold}
    return _cheapest_sequence(weights, known)


def _by_cuts(hosts: ShortPairs, pattern: Pattern, least: float, deadline: Deadline) -> float:
    return max(least, hosts.cut_threshold(pattern, deadline))


def _by_holding(hosts: ShortPairs, pattern: Pattern, least: float, deadline: Deadline) -> float:
    return hosts.holding_threshold(pattern, least, deadline)


def _turn(chosen: int, rounds: int) -> tuple[bool, int]:
    """Return the sort key of a set of rounds: single rounds first, then the largest sets."""
    size = chosen.bit_count()
    return size > 1, rounds - size


def _members(chosen: int) -> list[int]:
    return [i for i in range(chosen.bit_length()) if chosen >> i & 1]


def _cheapest_sequence(weights: Sequence[float], threshold: dict[int, float]) -> float:
    """Return the least sum of weight times greatest threshold so far, over round sequences.

    Sets without a threshold of their own have that of their subsets.
    """
    least = [0.0] * (1 << len(weights))
    cheapest = [0.0] * (1 << len(weights))
    for chosen in range(1, len(least)):
        parts = [(i, chosen & ~(1 << i)) for i in _members(chosen)]
        least[chosen] = max(threshold.get(chosen, 0.0), *(least[rest] for _, rest in parts))
        cheapest[chosen] = min(cheapest[rest] + weights[i] * least[chosen] for i, rest in parts)
    return cheapest[-1]
