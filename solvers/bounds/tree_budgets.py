"""Lower bounds on the longest root-to-leaf path of trees, by ruling out limits on its length.

Is there a tree in which no sum exceeds a limit? Let hosts have prices, and let a tree use hosts
more than once or never, and pay for each use. A tree that uses each host once pays the sum of all
prices, of more hosts than ranks at most the sum of as many greatest prices. So where even the
cheapest of those that keep the limit pays more, no order keeps it, and all cost more than it.

The cheapest such tree is found by dynamic programming from the leaves up, over a subtree's root and
what is left of the limit there: a resource-constrained path relaxation (Christofides, Mingozzi and
Toth 1981) of a tree. In a small group of near hosts, ranks that are joined within it are no more
than its hosts.

Prices approach the point of least norm in the hull of what trees that were found use beyond what
orders use, for one host as the root until it is ruled out; every other one that its prices rule out
is, too. Hosts that are too far from others (`root_bounds`) are no roots in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from plink.solvers import _native
from plink.solvers.collectives.form import TreesForm
from plink.solvers.distances import Matrix
from plink.solvers.limits import Deadline
from plink.solvers.linkages import linkage

# The cells of a limit, round by round: few cells are quicker, many round less.
_CELLS = (16, 32, 64, 128, 128)

# Subtrees x hosts x cells that are held at the same time.
_MOST_VALUES = 1 << 26

# Sums of whole numbers are exact up to this one in single precision.
_MOST_PAID = float(1 << 24)

# Up to so many cells, the hosts of a group have the same prices.
_MOST_CELLS_ALIKE = 32

# Steps for one root in which nothing is proven, round by round.
_PATIENCE = (30, 60, 120, 240, 480)

# Where the least norm is so small, no prices rule out the limit, or hardly any.
_LEAST_NORM_SQUARED = 1e-3

# Limits are told apart to this share of themselves, and one above all known is so much greater.
# One that is less than so small a share of the middle distance is not looked for.
_NEAR = 0.03
_FARTHER = 1.25
_LEAST_SHARE = 1e-3

# Limits are tried again, with more cells and steps, up to so much above what is ruled out.
_RETRIED = 1.4

# What the shortest paths take at least, for each triple of hosts.
_S_PER_TRIPLE = 1.5e-9

# Sums of distances in another order may differ in the last digits.
_ROUNDING = 1e-9

_MOST_MEMBERS = 16

# How much farther the next cluster is, at least, than the members of one are.
_LEAST_RATIO = 1.5

# Members of a cluster count as this share of the middle distance apart at least.
_LEAST_INSIDE = 0.01

# Of each shape of subtree, children first, the whole tree last: of its root's children, the places
# of their shapes and how many have each.
Subtrees = tuple[tuple[tuple[int, int], ...], ...]


def budget_bound(form: TreesForm, distance: Matrix, known: float, deadline: Deadline) -> float:
    """Return a proven lower bound, at least `known`, on any order's longest root-to-leaf path.

    Every shape of tree gets its share of the time.
    """
    if deadline.left_s < _S_PER_TRIPLE * len(distance) ** 3:
        return known
    try:
        by_root = root_bounds(form, distance, deadline)
        group = small_groups(distance, deadline)
    except TimeoutError:
        return known
    best = max(known, float(by_root.min()))
    shapes = {list_subtrees(tree.tolist()): int((tree != -2).sum()) for tree in form.parents}
    for left, (subtrees, ranks) in zip(range(len(shapes), 0, -1), shapes.items(), strict=True):
        limits = _TriedLimits(subtrees, ranks, distance, group, by_root)
        try:
            best = limits.raise_limit(best, deadline.part(1.0 / left))
        except TimeoutError:
            best = max(best, limits.ruled_out)
    return best


class _TriedLimits:
    """Search for the greatest limit that no order's longest path keeps, by multipliers of hosts."""

    def __init__(
        self,
        subtrees: Subtrees,
        ranks: int,
        distance: Matrix,
        group: Sequence[int],
        root_bounds: Matrix,
    ) -> None:
        self.ruled_out = 0.0
        self._subtrees = subtrees
        self._ranks = ranks
        self._distance = distance
        self._group = group
        # In the hull of what trees used beyond what orders use; None before any.
        self._nearest: Matrix | None = None
        self._root_bounds = root_bounds

    def raise_limit(self, known: float, deadline: Deadline) -> float:
        """Try limits on the longest path; return the greatest that provably no order keeps.

        Raises:
            TimeoutError: the time did not suffice to try all.
        """
        middle = float(np.median(self._distance))
        # Ordered pairs of hosts in one group.
        per_cell = int((np.bincount(self._group) ** 2).sum())
        values = len(self._subtrees) * max(_CELLS) * per_cell
        if middle == 0.0 or values > _MOST_VALUES:
            return known
        self.ruled_out = known
        least = middle * _LEAST_SHARE
        above = np.inf
        limit = max(self.ruled_out * _FARTHER, middle)
        for cells, patience in zip(_CELLS, _PATIENCE, strict=True):
            while above > max(least, self.ruled_out * (1.0 + _NEAR)):
                if self._rules_out(limit, cells, patience, deadline):
                    self.ruled_out = limit * (1.0 - _ROUNDING)
                else:
                    above = limit
                limit = min((self.ruled_out + above) / 2.0, max(limit, self.ruled_out) * _FARTHER)
            above = self.ruled_out * _RETRIED
            limit = (self.ruled_out + above) / 2.0
        return self.ruled_out

    def _rules_out(self, limit: float, cells: int, patience: int, deadline: Deadline) -> bool:
        """Return True if prices of hosts prove that no order's root-to-leaf paths keep a limit."""
        tree = _native.BudgetTree(self._distance, self._subtrees, self._group, limit, cells)
        nearest, group = self._nearest, np.array(self._group)
        may_be_root = self._root_bounds <= limit
        root, tries, has_others = -1, 0, False
        while True:
            prices = self._round_to_exact(np.zeros(len(group)) if nearest is None else nearest)
            # What an order uses at most, if hosts without a rank are the cheapest.
            used = np.zeros(len(prices))
            used[np.argsort(-prices, kind="stable")[: self._ranks]] = 1.0
            above = np.array(tree.cheapest(prices.tolist(), deadline)) - float(prices @ used)
            may_be_root &= above <= 0.0
            if not may_be_root.any():
                self._nearest = nearest
                return True
            if root < 0 or not may_be_root[root]:
                root, tries = int(np.where(may_be_root, above, -np.inf).argmax()), 0
                has_others = nearest is not None
            away = np.array(tree.uses(root)) - used
            if cells <= _MOST_CELLS_ALIKE:
                away = (np.bincount(group, away) / np.bincount(group))[group]
            tries += 1
            if tries > patience or not away.any():
                return False
            nearest = away if nearest is None else _find_nearest(nearest, away)
            if nearest @ nearest < _LEAST_NORM_SQUARED:
                if not has_others:
                    return False
                # Those of other roots may stand in the way.
                nearest, has_others = None, False

    def _round_to_exact(self, prices: Matrix) -> Matrix:
        """Return prices as whole numbers, (N,), scaled so that sums over a tree are exact."""
        greatest = self._ranks * float(np.abs(prices).max()) / _MOST_PAID
        return np.trunc(prices / greatest) if greatest > 0.0 else np.zeros(len(prices))


def _find_nearest(one: Matrix, other: Matrix) -> Matrix:
    """Return the point between two others that is nearest to the origin (Gilbert 1966)."""
    way = other - one
    squared = float(way @ way)
    share = -float(one @ way) / squared if squared > 0.0 else 0.0
    return one + min(1.0, max(0.0, share)) * way


def small_groups(distance: Matrix, deadline: Deadline) -> list[int]:
    """Return the index of each host's cluster of at most 16 near hosts, (N,); some have one host.

    Groups are clusters of the average-linkage dendrogram, of few hosts. Where one is in another,
    that counts whose hosts are nearer, compared with the cluster that it is merged with.

    Raises:
        TimeoutError: the time did not suffice.
    """
    size = len(distance)
    least = _LEAST_INSIDE * float(np.median(distance))
    members = [[host] for host in range(size)]
    heights = [0.0] * size
    ratios: list[tuple[float, int]] = []
    for left, right, height, _ in linkage(distance, "average", deadline):
        members.append([*members[int(left)], *members[int(right)]])
        heights.append(float(height))
        for part in (int(left), int(right)):
            if 2 <= len(members[part]) <= _MOST_MEMBERS:
                ratios.append((float(height) / max(heights[part], least, 1e-300), part))
    group = np.arange(size)
    is_free = np.ones(size, dtype=np.bool_)
    for ratio, cluster in sorted(ratios, reverse=True):
        if ratio >= _LEAST_RATIO and is_free[members[cluster]].all():
            is_free[members[cluster]] = False
            group[members[cluster]] = members[cluster][0]
    found: list[int] = np.unique(group, return_inverse=True)[1].tolist()
    return found


def root_bounds(form: TreesForm, distance: Matrix, deadline: Deadline) -> Matrix:
    """Return a lower bound on the longest root-to-leaf path for each host as a tree's root, (N,).

    Hosts for which the time does not suffice have the length of paths alone.

    Raises:
        TimeoutError: it did not suffice for the shortest paths.
    """
    paths = _paths(distance, deadline)
    used = min(int((tree != -2).sum()) for tree in form.parents)
    farthest: Matrix = np.partition(paths, used - 1, axis=1)[:, used - 1]
    bounds = farthest.copy()
    if len(form.parents) <= 2:
        exempt_and_onwards = _list_onwards(form, distance)
        is_double = len(form.parents) == 2
        best = np.inf
        for root in np.argsort(farthest):
            if deadline.is_over or farthest[root] >= best:
                break
            # A host's rank may have its children in either tree; the other's root may be any host.
            reached = np.minimum(paths[root], paths) if is_double else paths[root, None]
            longest = farthest if is_double else farthest[None, root]
            for exempt, onwards in exempt_and_onwards:
                last = reached.shape[1] - 1 - exempt
                ways = np.partition(reached + onwards, last, axis=1)[:, last]
                longest = np.maximum(longest, ways)
            bounds[root] = max(float(farthest[root]), float(longest.min()))
            best = min(best, bounds[root])
    return bounds * (1.0 - _ROUNDING)


def _list_onwards(form: TreesForm, distance: Matrix) -> list[tuple[int, Matrix]]:
    """Return for first and second children: how many ranks lack one, and hosts' least hops to one.

    One entry for a first child and one for a second.
    """
    hosts = len(distance)
    children = np.max(
        [np.bincount(tree[tree >= 0], minlength=hosts) for tree in form.parents], axis=0
    )
    others = np.sort(distance + np.diag(np.full(hosts, np.inf)), axis=1)
    # So many ranks have fewer children in every tree, and may be on any hosts.
    return [
        (int((children < count).sum()), others[:, count - 1])
        for count in (1, 2)
        if count < hosts and (children >= count).any()
    ]


def _paths(distance: Matrix, deadline: Deadline) -> Matrix:
    """Return the lengths of the shortest paths between all hosts, (N, N) (Floyd 1962)."""
    paths = distance.copy()
    for host in range(len(paths)):
        if deadline.is_over:
            raise TimeoutError
        np.minimum(paths, paths[:, host, None] + paths[None, host], out=paths)
    return paths


def list_subtrees(parents: Sequence[int]) -> Subtrees:
    """Return the distinct shapes of a tree's subtrees; parents are -1 at the root, -2 if idle."""
    below: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(rank)
    order = [parents.index(-1)]
    for rank in order:
        order.extend(below[rank])
    place_of: dict[tuple[tuple[int, int], ...], int] = {}
    place = [0] * len(parents)
    for rank in reversed(order):
        children = tuple(sorted(Counter(place[child] for child in below[rank]).items()))
        place[rank] = place_of.setdefault(children, len(place_of))
    return tuple(place_of)
