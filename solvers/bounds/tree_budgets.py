"""Lower bounds on the longest root-to-leaf path of trees, by ruling out limits on its length.

Is there a tree in which no sum exceeds a limit? Let hosts have prices, and let a tree use hosts
more than once or never, and pay for each use. A tree that uses each host once pays the sum of all
prices, of more hosts than ranks at most the sum of as many greatest prices. So where even the
cheapest of those that keep the limit pays more, no order keeps it, and all cost more than it.

The cheapest such tree is found by dynamic programming from the leaves up, over a subtree's root and
what is left of the limit there: a resource-constrained path relaxation (Christofides, Mingozzi and
Toth 1981) of a tree. Three things narrow what such trees can be:

- In a small group of near hosts, ranks that are joined within it are no more than its hosts.
- A host has two prices, as a leaf and as a rank with children. The trees of a double one pay
  together, and in these nearly every host is a leaf of one tree and has children in the other.
- A weighted mean of the ways to the leaves has a price, too, and is no longer than the limit:
  rounding to few cells takes little off it.

Prices are the point of least norm in the hull of what trees that were found use beyond what orders
use, for two hosts as the roots until they are ruled out; every other two that their prices rule out
are, too. Hosts that are too far from others (`root_bounds`) are no roots in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.bounds.least_norm import LeastNorm
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

# The factor of a leaf's weight in the mean way, for each edge that it is farther from the root.
_EMPHASIS = 2.0

# A mean way that is as long as the limit, in uses of a host.
_WAY = 4.0

# Up to so many cells, the hosts of a group have the same prices.
_MOST_CELLS_ALIKE = 32

# Steps for one root in which nothing is proven, round by round.
_PATIENCE = (30, 60, 120, 240, 480)

# Where the least norm is so small, no prices rule out the limit, or hardly any.
_LEAST_NORM_SQUARED = 2e-3

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

Subtrees = list[list[tuple[int, int]]]
# Of a subtree: what its leaves have of the weight of all leaves of the tree; and of its root's
# children, the place of their shape in the list of all and how many have it.
Shape = tuple[float, tuple[tuple[int, int], ...]]
Flags = npt.NDArray[np.bool_]


def budget_bound(form: TreesForm, distance: Matrix, known: float, deadline: Deadline) -> float:
    """Return a proven lower bound, at least `known`, on any order's longest root-to-leaf path.

    All trees together, or every one, get their share of the time.
    """
    if deadline.left_s < _S_PER_TRIPLE * len(distance) ** 3:
        return known
    try:
        by_root = root_bounds(form, distance, deadline)
        group = small_groups(distance, deadline)
    except TimeoutError:
        return known
    best = max(known, float(by_root.min()))
    parts = pair_trees(form)
    for left, pair in zip(range(len(parts), 0, -1), parts, strict=True):
        limits = _TriedLimits(pair, distance, group, by_root)
        try:
            best = limits.raise_limit(best, deadline.part(1.0 / left))
        except TimeoutError:
            best = max(best, limits.ruled_out)
    return best


class _TriedLimits:
    """Search for the greatest limit that no order's longest path keeps, by multipliers of hosts."""

    def __init__(
        self, pair: PairOfTrees, distance: Matrix, group: Sequence[int], root_bounds: Matrix
    ) -> None:
        self.ruled_out = 0.0
        self._pair = pair
        self._distance = distance
        self._group = group
        self._points = LeastNorm(2 * len(distance) + 1)
        self._root_bounds = root_bounds

    def raise_limit(self, known: float, deadline: Deadline) -> float:
        """Try limits on the longest path; return the greatest that provably no order keeps.

        Raises:
            TimeoutError: the time did not suffice to try all.
        """
        middle = float(np.median(self._distance))
        # Ordered pairs of hosts in one group.
        per_cell = int((np.bincount(self._group) ** 2).sum())
        values = len(self._pair.subtrees) * max(_CELLS) * per_cell
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
        """Return True if host multipliers prove that no order's root-to-leaf paths keep a limit."""
        pair, hosts = self._pair, len(self._distance)
        tree = _native.BudgetTree(
            self._distance, pair.subtrees, pair.shares, self._group, limit, cells
        )
        points, group = copy(self._points), np.array(self._group)
        may_be_roots = pair.roots(self._root_bounds <= limit)
        roots, tries, of_others = (-1, -1), 0, 0
        while True:
            nearest = points.nearest
            prices, way = self._round_to_exact(nearest, cells)
            paid = pair.most_paid(prices)
            leaf_prices, inner_prices = prices.tolist()
            found = tree.cheapest(leaf_prices, inner_prices, way, deadline)
            costs = np.array(found, dtype=np.float64)
            # The mean ways of both trees are no longer than the limit.
            above = costs[:, None] + costs - float((prices * paid).sum()) - 2.0 * way
            may_be_roots &= above <= 0.0
            if not may_be_roots.any():
                self._points = points
                return True
            if roots[0] < 0 or not may_be_roots[roots]:
                worst = int(np.where(may_be_roots, above, -np.inf).argmax())
                roots, tries = divmod(worst, hosts), 0
                of_others = len(points)
            away = np.zeros(2 * hosts + 1)
            for root in roots:
                leaf, inner, length = tree.uses(root)
                away += np.concatenate([leaf, inner, [_WAY * (length - 1.0)]])
            away[:-1] -= paid.ravel()
            if cells <= _MOST_CELLS_ALIKE:
                places = np.concatenate([group, group + group.max() + 1])
                away[:-1] = (np.bincount(places, away[:-1]) / np.bincount(places))[places]
            if nearest[-1] < 0.0:
                # Trees may be longer, but a way's price is not below 0.
                away[-1] = max(float(away[-1]), _WAY)
            tries += 1
            if tries > patience or not away.any():
                return False
            points.add(away)
            if points.norm_squared < _LEAST_NORM_SQUARED:
                if not of_others:
                    return False
                # Those of other roots may stand in the way.
                points, of_others = LeastNorm(len(away)), 0

    def _round_to_exact(self, nearest: Matrix, cells: int) -> tuple[Matrix, float]:
        """Return host multipliers, (2, N), and the path length's, scaled so that sums are exact."""
        prices, way = nearest[:-1], max(0.0, _WAY * float(nearest[-1]))
        most = _MOST_PAID * 0.49
        greatest = max(
            self._pair.ranks * float(np.abs(prices).max()) / most,
            (1.0 + self._pair.depth / cells) * way / most,
        )
        if greatest == 0.0:
            return np.zeros((2, len(prices) // 2)), 0.0
        return np.trunc(prices.reshape(2, -1) / greatest), way / greatest


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


@dataclass(frozen=True)
class PairOfTrees:
    """Pair of trees with equal subtree shapes, such as a double binary tree, or one tree twice.

    Args:
        subtrees: the different ones, the whole tree last.
        shares: by subtree, what its leaves have of the weight of all leaves in a mean way.
        depth: edges from the root down to the farthest leaf.
        ranks: ranks of each tree.
        is_one_root: whether the same rank is the root of both.
        twice_inner: ranks that have children in both.
        twice_leaf: ranks that have children in neither.
    """

    subtrees: Subtrees
    shares: list[float]
    depth: int
    ranks: int
    is_one_root: bool
    twice_inner: int
    twice_leaf: int

    def roots(self, may_be_root: Flags) -> Flags:
        """Return which pairs of hosts may be roots of the two trees, (N, N), of candidates (N,)."""
        both = may_be_root[:, None] & may_be_root
        diagonal = np.eye(len(both), dtype=np.bool_)
        return both & (diagonal if self.is_one_root else ~diagonal)

    def most_paid(self, prices: Matrix) -> npt.NDArray[np.float64]:
        """Return (2, N) factors; the prices weighted by them add up to no less than any order pays.

        The sum of prices times this is no less than what both trees pay in any order. A host pays
        both prices, or one of them twice: `twice_inner` hosts an inner one in place of a leaf's,
        `twice_leaf` hosts the other way round. Each of these three sums is at most that of as many
        greatest terms.

        Args:
            prices: (2, N) of hosts that are leaves, and of those that have children.
        """
        leaf, inner = prices
        uses = np.zeros_like(prices)
        uses[:, _find_greatest(leaf + inner, self.ranks)] += 1.0
        instead = inner - leaf
        for own, other, count in ((1, 0, self.twice_inner), (0, 1, self.twice_leaf)):
            hosts = _find_greatest(instead if own else -instead, count)
            uses[own, hosts] += 1.0
            uses[other, hosts] -= 1.0
        return uses


def pair_trees(form: TreesForm) -> list[PairOfTrees]:
    """Return an algorithm's two trees as a pair if of one shape, else each paired with itself.

    Others are each paired with themselves, those of one shape once.
    """
    shapes = [tuple(_list_shapes(tree.tolist())) for tree in form.parents]
    is_idle = [tree == -2 for tree in form.parents]
    if len(shapes) == 2 and shapes[0] == shapes[1] and np.array_equal(*is_idle):
        return [_pair(shapes[0], form.parents)]
    different = {one: place for place, one in enumerate(shapes)}
    return [
        _pair(one, [form.parents[place], form.parents[place]]) for one, place in different.items()
    ]


def _pair(shapes: Sequence[Shape], trees: Sequence[npt.NDArray[np.intp]]) -> PairOfTrees:
    is_inner = [np.isin(np.arange(len(tree)), tree[tree >= 0]) for tree in trees]
    is_leaf = [(tree != -2) & ~inner for tree, inner in zip(trees, is_inner, strict=True)]
    roots = [int((tree == -1).argmax()) for tree in trees]
    depth: list[int] = []
    for _, children in shapes:
        depth.append(max((depth[child] + 1 for child, _ in children), default=0))
    return PairOfTrees(
        [list(children) for _, children in shapes],
        [share for share, _ in shapes],
        depth[-1],
        int((trees[0] != -2).sum()),
        roots[0] == roots[1],
        int((is_inner[0] & is_inner[1]).sum()),
        int((is_leaf[0] & is_leaf[1]).sum()),
    )


def _find_greatest(values: Matrix, count: int) -> npt.NDArray[np.intp]:
    """Return the indices of the `count` greatest values."""
    first = len(values) - count
    if first <= 0 or count == 0:
        return np.arange(count)
    return np.argpartition(values, first)[first:]


def _list_shapes(parents: Sequence[int]) -> list[Shape]:
    """Return the distinct shapes of a tree's subtrees, children first, the whole tree last.

    A leaf's weight grows by a factor with every edge between it and the root.
    """
    below: list[list[int]] = [[] for _ in parents]
    for rank, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(rank)
    order = [parents.index(-1)]
    depth = [0] * len(parents)
    for rank in order:
        for child in below[rank]:
            depth[child] = depth[rank] + 1
        order.extend(below[rank])
    # 1 at the deepest leaves, so that no weight overflows.
    weight = [_EMPHASIS ** (one - max(depth)) for one in depth]
    for rank in reversed(order):
        if below[rank]:
            weight[rank] = sum(weight[child] for child in below[rank])
    place_of: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    shapes: list[Shape] = []
    place = [0] * len(parents)
    for rank in reversed(order):
        children = tuple(sorted(Counter(place[child] for child in below[rank]).items()))
        key = (depth[rank], children)
        if key not in place_of:
            place_of[key] = len(shapes)
            shapes.append((weight[rank] / weight[order[0]], children))
        place[rank] = place_of[key]
    return shapes
