"""Lower bounds on the latency cost of algorithms in rounds, from single rounds and sets of them.

Let S be a set of rounds, and L(S) a threshold below which the graph of short pairs cannot hold all
edges of S at once, whatever the order. Then the dearest round of S costs at least L(S) per unit of
weight, in every order. So with the rounds of an order sorted by their greatest distances,
cheapest first, the k-th of them costs at least L(the first k), and the least total over all
sequences of rounds is a lower bound; it is found by dynamic programming over sets of rounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers.bounds.nearest import degrees_threshold, quick_rounds_bound
from plink.solvers.collectives.form import RoundsForm, merge_rounds
from plink.solvers.components import component_sizes
from plink.solvers.limits import Deadline
from plink.solvers.linkages import linkage

Matrix = npt.NDArray[np.float64]

# What sorting distances and clustering hosts takes, for each pair.
_S_PER_PAIR = 1e-6

# With more different rounds than this, not every set is looked at.
_MOST_SETS_OF = 10

# What looking at a graph once takes at least, for each triple of hosts.
_S_PER_CUBE = 1e-10

Adjacency = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.intp]


def rounds_bound(form: RoundsForm, distance: Matrix, deadline: Deadline) -> float:
    """Return a proven lower bound on the latency cost of an algorithm in rounds.

    0 where so many hosts take longer than the time that is left.
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
        return _bound_single_rounds(form, hosts, deadline)
    return _bound_by_sets(form.ranks, edges, weights, hosts, deadline)


def _bound_single_rounds(form: RoundsForm, hosts: ShortPairs, deadline: Deadline) -> float:
    """Return a lower bound on the cost of rounds: one for each added up, or one by peer counts.

    By the degrees and components of each; and by the peers of any k rounds (`quick_rounds_bound`).
    """
    known: dict[tuple[bytes, bytes], float] = {}
    own = 0.0
    for step in merge_rounds(form).rounds:
        threshold = hosts.least_distance
        if not deadline.is_over:
            pattern = Pattern([adjacency(step.edges, form.ranks)], [None])
            key = (pattern.degrees.tobytes(), pattern.component_sizes.tobytes())
            if key not in known:
                known[key] = hosts.quick_threshold(pattern)
            threshold = known[key]
        own += step.weight * threshold
    return max(own, quick_rounds_bound(form, hosts.nearest))


def _bound_by_sets(
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
    # Single rounds first, then the largest sets of rounds.
    sets = sorted(range(1, 1 << len(edges)), key=lambda one: -one.bit_count())
    for chosen in [*(1 << i for i in range(len(edges))), *sets]:
        if chosen in key_of:
            continue
        members = _members(chosen)
        of_members = [digits[i] for i in members]
        key_of[chosen] = build_kind_key(of_members) or (chosen,)
        if key_of[chosen] not in patterns:
            if len(members) > 1 and deadline.is_over:
                break
            patterns[key_of[chosen]] = Pattern([rounds[i] for i in members], of_members)
    threshold = {key: hosts.quick_threshold(pattern) for key, pattern in patterns.items()}
    for key, pattern in patterns.items():
        if not deadline.is_over:
            threshold[key] = max(threshold[key], hosts.cut_threshold(pattern, deadline))
    for key, pattern in patterns.items():
        if not deadline.is_over:
            threshold[key] = hosts.holding_threshold(pattern, threshold[key], deadline)
    known = {chosen: threshold[key] for chosen, key in key_of.items() if key in threshold}
    return _cheapest_sequence(weights, known)


def _members(chosen: int) -> list[int]:
    return [i for i in range(chosen.bit_length()) if chosen >> i & 1]


def _cheapest_sequence(weights: Sequence[float], threshold: dict[int, float]) -> float:
    """Return the least cost of rounds, given lower bounds on the greatest distance in sets of them.

    Sets without a threshold of their own have that of their subsets.
    """
    least = [0.0] * (1 << len(weights))
    cheapest = [0.0] * (1 << len(weights))
    for chosen in range(1, len(least)):
        parts = [(i, chosen & ~(1 << i)) for i in _members(chosen)]
        least[chosen] = max(threshold.get(chosen, 0.0), *(least[rest] for _, rest in parts))
        cheapest[chosen] = min(cheapest[rest] + weights[i] * least[chosen] for i, rest in parts)
    return cheapest[-1]


class ShortPairs:
    """Host pairs by distance, to bound the greatest distance of any order's pairs in some rounds.

    Every condition below holds for a graph that has the pattern as a subgraph on all hosts, and
    goes on holding when pairs are added to the graph. So no order has all edges of the pattern
    within a threshold at which a condition fails, nor within a lesser one.
    """

    def __init__(self, distance: Matrix, deadline: Deadline | None = None) -> None:
        self._distance = distance
        size = len(distance)
        self._levels = np.unique(distance[np.triu_indices(size, 1)])
        # By host, the distances to its nearest others; and by how many, the nearest hosts' first.
        self.nearest = np.sort(distance + np.diag(np.full(size, np.inf)), axis=1)[:, :-1]
        self._reached = np.sort(self.nearest, axis=0)
        matrix = np.ascontiguousarray(distance, dtype=np.float64)
        until = deadline or Deadline()
        self._merges = linkage(matrix, "single", until)
        self._clusters = _clusters(self._merges, linkage(matrix, "average", until))

    @property
    def least_distance(self) -> float:
        """Least distance between any two hosts."""
        return float(self._levels[0])

    def quick_threshold(self, pattern: Pattern) -> float:
        """Return a lower bound on partners' greatest distance, by ranks' degrees and components."""
        by_degrees = degrees_threshold(pattern.degrees, self._reached)
        return max(by_degrees, self._component_threshold(pattern))

    def cut_threshold(self, pattern: Pattern, deadline: Deadline) -> float:
        """Return a lower bound on partners' greatest distance, by pairs that must leave clusters.

        No more pairs of a host count than the pattern's greatest degree.
        """
        leaving = pattern.least_leaving
        most = int(pattern.degrees[0])
        threshold = 0.0
        for cluster in self._clusters:
            needed = int(leaving[int(cluster.sum())])
            if needed > 0:
                across = self._distance[cluster][:, ~cluster]
                for side in (across, across.T):
                    kept = min(most, side.shape[1])
                    usable = np.partition(side, kept - 1, axis=1)[:, :kept].ravel()
                    if needed <= len(usable):
                        least = float(np.partition(usable, needed - 1)[needed - 1])
                        threshold = max(threshold, least)
            if deadline.is_over:
                break
        return threshold

    def holding_threshold(self, pattern: Pattern, least: float, deadline: Deadline) -> float:
        """Return the least distance, from `least` on, at which `can_hold` is true, by bisection."""
        low = int(np.searchsorted(self._levels, least))
        high = len(self._levels) - 1
        took_s = _S_PER_CUBE * len(self._distance) ** 3
        while low < high and took_s < deadline.left_s:
            middle = (low + high) // 2
            before_s = deadline.left_s
            if self.can_hold(pattern, float(self._levels[middle])):
                high = middle
            else:
                low = middle + 1
            took_s = before_s - deadline.left_s
        return float(self._levels[low])

    def can_hold(self, pattern: Pattern, threshold: float) -> bool:
        """Return False if the graph of hosts within a distance surely does not contain the pattern.

        Pairs that no edge of the pattern can be mapped to are taken out until no such pair is left.
        """
        graph = self._distance <= threshold
        np.fill_diagonal(graph, False)
        pairs = -1
        while (now := int(graph.sum())) != pairs:
            pairs = now
            if (np.sort(graph.sum(axis=1))[::-1] < pattern.degrees).any():
                return False
            least_common, least_continued = pattern.surroundings
            if least_common or least_continued:
                common, continued = common_and_continued(graph)
                enough = continued >= least_continued
                graph &= (common >= least_common) & enough & enough.T
        return True

    def _component_threshold(self, pattern: Pattern) -> float:
        """Return a lower bound on partners' greatest distance, by sizes of connected components."""
        # As a bit set, the sizes that unions of the pattern's components can have.
        fits = 1
        for size in pattern.component_sizes.tolist():
            fits |= fits << size
        size_of = [1] * len(self._distance)
        unfit = 0 if fits >> 1 & 1 else len(self._distance)
        threshold = 0.0
        for height, merges in itertools.groupby(self._merges.tolist(), key=lambda row: row[2]):
            if unfit:
                threshold = height
            for left, right, _, merged in merges:
                unfit -= sum(not fits >> size_of[int(part)] & 1 for part in (left, right))
                unfit += not fits >> int(merged) & 1
                size_of.append(int(merged))
        return threshold


def _clusters(*merges: npt.NDArray[np.float64]) -> Adjacency:
    """Return masks, (C, N), of the hosts of dendrograms' clusters, except single hosts and all."""
    size = len(merges[0]) + 1
    found: dict[bytes, Adjacency] = {}
    for dendrogram in merges:
        rows = list(np.eye(size, dtype=bool))
        for left, right, _, _ in dendrogram[:-1]:
            rows.append(rows[int(left)] | rows[int(right)])
        found.update((row.tobytes(), row) for row in rows[size:])
    return np.array(list(found.values()), dtype=bool).reshape(-1, size)


@dataclass(frozen=True)
class Digit:
    """The one digit of the rank number, in some base, in which partners of a round differ.

    Args:
        members: the ranks that take part, ascending; a digit is one of the place in this list.
        base: base of the digits.
        place: the power of the base that the digit counts.
    """

    members: tuple[int, ...]
    base: int
    place: int


def adjacency(edges: npt.NDArray[np.intp], ranks: int) -> Adjacency:
    """Return the symmetric adjacency matrix, (N, N), of the ranks that edges connect."""
    matrix = np.zeros((ranks, ranks), dtype=bool)
    matrix[edges[:, 0], edges[:, 1]] = True
    matrix |= matrix.T
    np.fill_diagonal(matrix, False)
    return matrix


def find_digit(round_adjacency: Adjacency) -> Digit | None:
    """Return the rank numbers' digit if a round pairs all that differ in it alone, or else None."""
    degree = round_adjacency.sum(axis=1)
    members = np.flatnonzero(degree)
    base = int(degree.max()) + 1
    own = round_adjacency[np.ix_(members, members)]
    place = int(np.flatnonzero(own[0])[0])
    power = place
    while power % base == 0:
        power //= base
    if power != 1 or len(members) % (base * place) != 0:
        return None
    number = np.arange(len(members))
    rest = number - number // place % base * place
    expected = rest[:, None] == rest[None, :]
    np.fill_diagonal(expected, False)
    if not np.array_equal(own, expected):
        return None
    return Digit(tuple(members.tolist()), base, place)


def build_kind_key(digits: Sequence[Digit | None]) -> tuple[object, ...] | None:
    """Return a key that is equal for isomorphic sets of rounds; None unless each is a `Digit`."""
    known = [digit for digit in digits if digit is not None]
    kinds = {(digit.members, digit.base) for digit in known}
    if len(known) < len(digits) or len(kinds) != 1:
        return None
    return (*kinds.pop(), len(digits))


class Pattern:
    """Graph of the pairs of ranks that exchange messages in some rounds."""

    def __init__(self, rounds: Sequence[Adjacency], digits: Sequence[Digit | None]) -> None:
        self._rounds = rounds
        self._digits = digits
        union: Adjacency = np.logical_or.reduce(rounds)
        self.ranks = len(union)
        degree = union.sum(axis=1)
        self.degrees: Counts = np.sort(degree)[::-1]
        self.component_sizes: Counts = np.sort(component_sizes(union))
        self._union = union

    @cached_property
    def surroundings(self) -> tuple[int, int]:
        """Least numbers of common neighbours of an edge's ends, and of one's near the other."""
        if not self._union.any():
            return 0, 0
        common, continued = common_and_continued(self._union)
        return int(common[self._union].min()), int(continued[self._union].min())

    @cached_property
    def most_inside(self) -> Counts:
        """Upper bound on the number of partner pairs among any m ranks, (N + 1,) by m.

        The rounds that are digits of the same number are a union of Hamming graphs, in which the
        first m ranks have the most (Harper 1964 for base 2, Lindsey 1964). In any other round, m
        ranks have at most half the sum of the m greatest degrees.
        """
        size = np.arange(self.ranks + 1)
        most = np.zeros(self.ranks + 1, dtype=np.intp)
        groups: dict[tuple[tuple[int, ...], int], set[int]] = {}
        for own, digit in zip(self._rounds, self._digits, strict=True):
            if digit is None:
                degrees = np.sort(own.sum(axis=1))[::-1]
                most[1:] += np.minimum(np.cumsum(degrees) // 2, own.sum() // 2)
            else:
                groups.setdefault((digit.members, digit.base), set()).add(digit.place)
        for (members, base), places in groups.items():
            grown = _most_inside_hamming(len(members), base, len(places))
            most += np.pad(grown, (0, self.ranks - len(members)), mode="edge")
        inside: Counts = np.minimum(most, size * (size - 1) // 2)
        return inside

    @cached_property
    def least_leaving(self) -> Counts:
        """Lower bound on the partner pairs between any m ranks and the rest, (N + 1,) by m."""
        own = np.concatenate([[0], np.cumsum(self.degrees[::-1])]) - 2 * self.most_inside
        # The pairs that leave m ranks are those that leave the other N - m.
        leaving: Counts = np.maximum(0, np.maximum(own, own[::-1]))
        return leaving


def _most_inside_hamming(members: int, base: int, digits: int) -> Counts:
    """Return, for each m, the most edges among m vertices of Hamming graph copies, (members + 1,).

    The graph has base^digits vertices. Adding the vertices of a copy in the order of their numbers
    adds as many pairs as the sum of the number's digits; copies are filled one after the other.
    """
    number = np.arange(members) % base**digits
    added = sum((number // base**digit % base for digit in range(digits)), np.zeros_like(number))
    inside: Counts = np.concatenate([[0], np.cumsum(added)])
    return inside


def common_and_continued(graph: Adjacency) -> tuple[Counts, Counts]:
    """Count, for all pairs u v, common neighbours, and neighbours of u within two steps of v.

    The first counts common neighbours. The second counts the neighbours of u other than v that are
    neighbours of v, or have a neighbour other than u that is one.
    """
    own = graph.astype(np.float32)
    paths = own @ own
    # A neighbour of u has u itself as a common neighbour with v.
    is_continued = ((paths >= 2.0) | graph).astype(np.float32)
    np.fill_diagonal(is_continued, 0.0)
    return paths.astype(np.intp), (own @ is_continued).astype(np.intp)
