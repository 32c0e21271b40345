"""Lower bounds on the longest root-to-leaf path of a tree, by testing limits on its length.

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
use (`plink.solvers.bounds.least_norm`), for two hosts as the roots until they are ruled out; every
other two that their prices rule out are, too. Hosts that are too far from others
(`plink.solvers.bounds.far_hosts`) are no roots in any case.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers import _native
from plink.solvers.bounds.far_hosts import root_bounds
from plink.solvers.bounds.least_norm import LeastNorm
from plink.solvers.bounds.small_groups import small_groups
from plink.solvers.bounds.tree_pairs import PairOfTrees, pair_trees
from plink.solvers.collectives.form import TreesForm
from plink.solvers.distances import Matrix
from plink.solvers.limits.deadline import Deadline

# The cells of a limit, round by round: few cells are quicker, many round less.
_CELLS = (16, 32, 64, 128, 128)

# Subtrees x hosts x cells that are held at the same time.
_MOST_VALUES = 1 << 26

# Sums of whole numbers are exact up to this one in single precision.
_MOST_PAID = float(1 << 24)

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


def has_time(hosts: int, deadline: Deadline) -> bool:
    """Return whether half the remaining time suffices for `budget_bound` to prove anything."""
    return deadline.left_s / 2.0 > _S_PER_TRIPLE * hosts**3


def budget_bound(form: TreesForm, distance: Matrix, known: float, deadline: Deadline) -> float:
    """Return a proven lower bound on every order's cost, at least `known`.

    Args:
        form: with at least two ranks.
        distance: (N, N).
        known: such a value.
        deadline: when to stop. All trees together, or every one, get their share of the time.
    """
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
    """Limits tried for a pair of trees, and the host prices that ruled out the greatest."""

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
        """Return the greatest limit ruled out, at least the known bound.

        Raises:
            TimeoutError: the time did not suffice to try all.
        """
        middle = float(np.median(self._distance))
        values = len(self._pair.subtrees) * max(_CELLS) * _values_per_cell(self._group)
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
        """Return whether no order can keep within a limit."""
        pair, hosts = self._pair, len(self._distance)
        tree = _native.BudgetTree(
            self._distance, pair.subtrees, pair.shares, self._group, limit, cells
        )
        points = self._points.copy()
        may_be_roots = pair.roots(self._root_bounds <= limit)
        roots, tries, of_others = (-1, -1), 0, 0
        while True:
            nearest = points.nearest
            prices, way = self._exact(nearest, cells)
            paid = pair.most_paid(prices)
            leaf_prices, inner_prices = prices.tolist()
            found = tree.cheapest(leaf_prices, inner_prices, way, deadline.native)
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
                away[:-1] = self._alike(away[:-1])
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

    def _alike(self, away: Matrix) -> Matrix:
        """Return prices averaged over each group's hosts, to reduce their number."""
        places = np.concatenate([self._group, np.array(self._group) + max(self._group) + 1])
        means = np.bincount(places, away) / np.bincount(places)
        alike: Matrix = means[places]
        return alike

    def _exact(self, nearest: Matrix, cells: int) -> tuple[Matrix, float]:
        """Return prices and those of the mean path, (2, N), whose sums are exact in floats."""
        prices, way = nearest[:-1], max(0.0, _WAY * float(nearest[-1]))
        most = _MOST_PAID * 0.49
        greatest = max(
            self._pair.ranks * float(np.abs(prices).max()) / most,
            (1.0 + self._pair.depth / cells) * way / most,
        )
        if greatest == 0.0:
            return np.zeros((2, len(prices) // 2)), 0.0
        return np.trunc(prices.reshape(2, -1) / greatest), way / greatest


def _values_per_cell(group: Sequence[int]) -> int:
    """Return the number of values in a cell: each group's size, summed over its hosts."""
    return int((np.bincount(group) ** 2).sum())
