"""Lower bounds for the greatest sum of distances from a tree's root to a leaf, limit by limit.

Is there a tree in which no sum exceeds a limit? Let hosts have prices, and let a tree use hosts
more than once or never, and pay for each use. A tree that uses each host once pays the sum of all
prices, of more hosts than ranks at most the sum of as many greatest prices. So where even the
cheapest of those that keep the limit pays more, no order keeps it, and all cost more than it.

The cheapest such tree is found by dynamic programming from the leaves up, over a subtree's root and
what is left of the limit there: a resource-constrained path relaxation (Christofides, Mingozzi and
Toth 1981) of a tree. Prices follow the subgradient (Held and Karp 1970), for one host as the root
until it is ruled out; every other that its prices rule out is, too. Hosts that
are too far from others (`plink.solvers.bounds.far_hosts`) are no roots in any case.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.bounds.far_hosts import root_bounds
from plink.solvers.bounds.shapes import subtrees_of
from plink.solvers.collectives.form import TreesForm
from plink.solvers.distances import Matrix
from plink.solvers.limits.deadline import Deadline

Indices = npt.NDArray[np.intp]

# The cells of a limit, round by round: few cells are quicker, many round less.
_CELLS = (16, 32, 64, 128, 128)

# Subtrees x hosts x cells that are held at the same time.
_MOST_VALUES = 1 << 26

# By how much a tree should pay too much after a step; prices are rounded to whole numbers.
_AIM = 64.0

# What a step's direction keeps of the last one's (Volgenant and Jonker 1982).
_MOMENTUM = 0.4

# Steps for one root in which nothing is proven, round by round.
_PATIENCE = (12, 36, 108, 324, 972)

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
    """Whether half of what is left lets `budget_bound` prove anything."""
    return deadline.left_s / 2.0 > _S_PER_TRIPLE * hosts**3


def budget_bound(form: TreesForm, distance: Matrix, known: float, deadline: Deadline) -> float:
    """A value that no order's cost is below, at least `known`.

    Args:
        form: with at least two ranks.
        distance: (N, N).
        known: such a value.
        deadline: when to stop. Every tree gets its share of the time.
    """
    different: dict[str, list[list[tuple[int, int]]]] = {}
    for parents in form.parents:
        subtrees = subtrees_of(parents.tolist())
        different.setdefault(str(subtrees), subtrees)
    try:
        by_root = root_bounds(form, distance, deadline)
    except TimeoutError:
        return known
    best = max(known, float(by_root.min()))
    for left, subtrees in zip(range(len(different), 0, -1), different.values(), strict=True):
        limits = _Limits(subtrees, distance, by_root)
        try:
            best = limits.raised(best, deadline.part(1.0 / left))
        except TimeoutError:
            best = max(best, limits.ruled_out)
    return best


class _Limits:
    """Limits that are tried for a tree, and the prices that ruled out the greatest so far."""

    def __init__(
        self, subtrees: list[list[tuple[int, int]]], distance: Matrix, root_bounds: Matrix
    ) -> None:
        self.ruled_out = 0.0
        self._subtrees = subtrees
        self._distance = distance
        self._prices = np.zeros(len(distance))
        self._root_bounds = root_bounds
        ranks: list[int] = []
        for children in subtrees:
            ranks.append(1 + sum(count * ranks[child] for child, count in children))
        self._ranks = ranks[-1]
        # Sums of so great prices are exact in single precision.
        self._greatest_price = float((1 << 24) // self._ranks)

    def raised(self, known: float, deadline: Deadline) -> float:
        """The greatest limit that is ruled out, or what was known if that is more.

        Raises:
            TimeoutError: the time did not suffice to try all.
        """
        middle = float(np.median(self._distance))
        if middle == 0.0 or len(self._subtrees) * len(self._prices) * max(_CELLS) > _MOST_VALUES:
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
        """Whether no order keeps a limit."""
        tree = _native.BudgetTree(self._distance, self._subtrees, limit, cells)
        prices = self._prices
        may_be_root = self._root_bounds <= limit
        root, tries = -1, 0
        direction: Matrix | None = None
        while True:
            whole = np.clip(np.rint(prices), -self._greatest_price, self._greatest_price)
            paid = self._most_paid(whole)
            costs = np.array(tree.cheapest(whole.tolist(), deadline.native))
            above = costs - whole[paid].sum()
            may_be_root &= above <= 0.0
            if not may_be_root.any():
                self._prices = prices
                return True
            if root < 0 or not may_be_root[root]:
                root, tries = int(np.where(may_be_root, above, -np.inf).argmax()), 0
                direction = None
            away = np.array(tree.uses(root), dtype=np.float64)
            away[paid] -= 1.0
            tries += 1
            if tries > patience or not away.any():
                return False
            kept = None if direction is None else away + _MOMENTUM * (direction - away)
            direction = away if kept is None or not kept.any() else kept
            step = (_AIM - float(above[root])) / float(direction @ direction)
            prices = prices + step * direction

    def _most_paid(self, prices: Matrix) -> Indices:
        """The hosts of as many greatest prices as there are ranks."""
        first = len(prices) - self._ranks
        return np.argpartition(prices, first)[first:] if first > 0 else np.arange(len(prices))
