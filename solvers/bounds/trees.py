"""Lower bounds on the longest root-to-leaf path of trees, by Lagrangian relaxation.

The greatest is at least any weighted mean over the leaves, which is a sum over the tree's edges of
distance x weight of the leaves below. Let hosts have prices, and let a tree use hosts more than
once or never, and pay for each use: a tree that uses each once pays the sum of all prices, so the
cheapest such tree less that sum is at most every order's cost; of more hosts than ranks it pays at
most the sum of as many greatest prices. It is found by dynamic programming
from the leaves up, as a subtree's cheapest cost depends only on its root's host. Prices are raised
where hosts are used too often and lowered where they are not used, as penalties are in the 1-trees
of a ring (Held and Karp 1970).

With the root free, trees in different racks could share the work, and would not pay for the way
to another rack. So the bound is the least over the hosts that the root may be, and hosts that are
near each other have their prices in common.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.form import TreesForm
from plink.solvers.limits import Deadline
from plink.solvers.linkages import linkage

Matrix = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# Iterations on a set of roots before another has its turn, and turns in all.
_TURN = 8
_MOST_TURNS = 5000

# A step of the ascent aims at so much above the bound, as a share of the bound without prices;
# where a turn gains less than a share of that, at less, and the set of roots is split.
_FIRST_RISE = 0.3
_LEAST_SHARE = 0.05
_SHORTER = 0.7
_SHORTEST = 1e-3

# What clustering the hosts and pricing a tree takes at least, for each pair of hosts, and what
# telling the shapes of its subtrees takes for each rank.
_S_PER_PAIR = 1e-7
_S_PER_RANK = 1e-5

# What a step's direction keeps of the last one's (Volgenant and Jonker 1982).
_MOMENTUM = 0.4

# The factor of a leaf's weight in the mean, for each edge that it is farther from the root.
EMPHASIS = 2.0


def trees_bound(form: TreesForm, distance: Matrix, deadline: Deadline) -> float:
    """Return a proven lower bound on the longest root-to-leaf path over all orders.

    Every tree gets its share of the time; 0 where that does not suffice.
    """
    if deadline.left_s < _S_PER_PAIR * len(distance) ** 2 + _S_PER_RANK * form.ranks:
        return 0.0
    different: dict[tuple[SubtreeShape, ...], list[SubtreeShape]] = {}
    for parents in form.parents:
        shapes = list_shapes(parents.tolist(), EMPHASIS)
        different.setdefault(tuple(shapes), shapes)
    best = 0.0
    for left, shapes in zip(range(len(different), 0, -1), different.values(), strict=True):
        best = max(best, _tree_bound(PricedTree(shapes, distance), deadline.part(1.0 / left)))
    return best


@dataclass(frozen=True)
class Relaxed:
    """Solution of a relaxed tree placement, in which a host may be used more than once.

    Args:
        value: its cost less the sum of all prices.
        uses: (N,) how often it uses each host.
        paid: (N,) whether the price of a host is among those that are taken off again.
    """

    value: float
    uses: Indices
    paid: npt.NDArray[np.bool_]


class PricedTree:
    """Relaxed placement of a tree: mean root-to-leaf distance plus hosts' prices (multipliers)."""

    def __init__(self, shapes: Sequence[SubtreeShape], distance: Matrix) -> None:
        self._shapes = shapes
        below: list[int] = []
        for shape in shapes:
            below.append(1 + sum(count * below[child] for child, count in shape.children))
        self._ranks = below[-1]
        self.distance = distance
        self._apart = distance + np.diag(np.full(len(distance), np.inf))
        self._share = [shape.share for shape in shapes]

    def cheapest(self, prices: Matrix, roots: Indices, deadline: Deadline | None = None) -> Relaxed:
        """Return the cheapest tree of the relaxation, given hosts' prices and the possible roots.

        Children of the same shape and parent are on different hosts, other than their parent's.

        Raises:
            TimeoutError: the time did not suffice.
        """
        size = len(prices)
        cost: list[Matrix] = []
        chosen: list[list[Indices]] = []
        for shape in self._shapes:
            if deadline is not None and deadline.is_over:
                raise TimeoutError
            own, picks = prices.copy(), []
            for child, count in shape.children:
                each = self._share[child] * self._apart + cost[child]
                if count == 1:
                    picked = each.argmin(axis=1)[:, None]
                else:
                    picked = np.argpartition(each, count - 1, axis=1)[:, :count]
                own += np.take_along_axis(each, picked, axis=1).sum(axis=1)
                picks.append(picked)
            cost.append(own)
            chosen.append(picks)
        root = int(roots[cost[-1][roots].argmin()])
        uses = [np.zeros(size, dtype=np.intp) for _ in self._shapes]
        uses[-1][root] = 1
        for place in range(len(self._shapes) - 1, -1, -1):
            for (child, _), picked in zip(self._shapes[place].children, chosen[place], strict=True):
                np.add.at(uses[child], picked, uses[place][:, None])
        paid = np.zeros(size, dtype=np.bool_)
        paid[np.argpartition(prices, size - self._ranks)[size - self._ranks :]] = True
        # What rounding may have added to the sums.
        greatest = float(np.abs(prices).max()) + float(self.distance.max())
        error = 4.0 * size * size * float(np.finfo(np.float64).eps) * greatest
        value = float(cost[-1][root] - prices[paid].sum()) - error
        return Relaxed(value, np.sum(uses, axis=0), paid)


class _Branch:
    """Subgradient ascent of the bound on a tree's cost, with the root among one set of hosts."""

    def __init__(
        self, tree: PricedTree, roots: Indices, deadline: Deadline, start: _Branch | None = None
    ) -> None:
        self.roots = roots
        self._tree = tree
        if start is None:
            self.prices = np.zeros(len(roots))
            self.bound = tree.cheapest(self.prices, roots, deadline).value
            self._rise = _FIRST_RISE * self.bound
        else:
            self.prices, self.bound, self._rise = start.prices, start.bound, start._rise

    @property
    def is_done(self) -> bool:
        """Whether the ascent cannot gain more: one possible root is left, and steps are short."""
        return len(self.roots) == 1 and self._rise <= _SHORTEST * self.bound

    def ascend(self, deadline: Deadline) -> bool:
        """Run some iterations of the ascent; return whether the bound rose enough to go on with it.

        Raises:
            TimeoutError: the time did not suffice.
        """
        before = self.bound
        prices = self.prices
        direction: Matrix | None = None
        for _ in range(_TURN):
            found = self._tree.cheapest(prices, self.roots, deadline)
            if found.value > self.bound:
                self.bound, self.prices = found.value, prices
            away = (found.uses - found.paid).astype(np.float64)
            direction = away if direction is None else away + _MOMENTUM * (direction - away)
            length = float(direction @ direction)
            if length == 0.0 or deadline.is_over:
                break
            prices = prices + (self.bound + self._rise - found.value) / length * direction
        is_worth_it = self.bound - before >= _LEAST_SHARE * self._rise
        if not is_worth_it:
            self._rise *= _SHORTER
        return is_worth_it


def _tree_bound(tree: PricedTree, deadline: Deadline) -> float:
    """Return a bound on one tree's longest path, by branching over clusters of possible roots."""
    try:
        merges = linkage(tree.distance, "average", deadline)
        top = _Branch(tree, np.arange(len(tree.distance)), deadline)
    except TimeoutError:
        return 0.0
    size = len(tree.distance)
    members = [np.array([host]) for host in range(size)]
    for left, right, _, _ in merges:
        members.append(np.concatenate([members[int(left)], members[int(right)]]))
    waiting = [(0.0, len(members) - 1, top)]
    for _ in range(_MOST_TURNS):
        _, node, branch = waiting[0]
        try:
            is_worth_it = branch.ascend(deadline)
        except TimeoutError:
            break
        if not is_worth_it and node >= size:
            left, right = (int(part) for part in merges[node - size][:2])
            heapq.heappop(waiting)
            for part in (left, right):
                half = _Branch(tree, members[part], deadline, branch)
                heapq.heappush(waiting, (half.bound, part, half))
        else:
            heapq.heapreplace(waiting, (branch.bound, node, branch))
        if deadline.is_over or waiting[0][2].is_done:
            break
    return min(branch.bound for _, _, branch in waiting)


@dataclass(frozen=True)
class SubtreeShape:
    """Shape of a subtree without rank numbers: its root's children, and its leaves' weight.

    Args:
        share: of the weight of all leaves of the tree, what its own leaves have.
        children: of its root: the place of a shape in the list of all, and how many have it.
    """

    share: float
    children: Sequence[tuple[int, int]]


def list_shapes(parents: Sequence[int], emphasis: float) -> list[SubtreeShape]:
    """Return the distinct shapes of a tree's subtrees, children first, the whole tree last.

    A leaf's weight grows by the factor `emphasis` with every edge between it and the root.
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
    weight = [emphasis ** (one - max(depth)) for one in depth]
    for rank in reversed(order):
        if below[rank]:
            weight[rank] = sum(weight[child] for child in below[rank])
    place_of: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    shapes: list[SubtreeShape] = []
    place = [0] * len(parents)
    for rank in reversed(order):
        children = tuple(sorted(Counter(place[child] for child in below[rank]).items()))
        key = (depth[rank], children)
        if key not in place_of:
            place_of[key] = len(shapes)
            shapes.append(SubtreeShape(weight[rank] / weight[order[0]], children))
        place[rank] = place_of[key]
    return shapes
