"""Which nodes of a tree are groups: the structure that describes the readings in fewest words.

A structure is a set of nodes of a dendrogram, its root among them. The logarithms of the readings
of all pairs whose lowest common node of the structure is the same are independent draws from one
normal distribution; the standard deviation is common to all. A structure costs what its likelihood
lacks, and half the logarithm of the number of readings for each mean (Schwarz, "Estimating the
dimension of a model", Annals of Statistics 6, 1978), and for each group the logarithm of the number
of ways to choose so many of the hosts it is chosen from, since the best of many is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.solvers.groups.dendrogram import Dendrogram

# What readings are off by at least, as a share of them: smaller differences are no evidence.
LEAST_NOISE = 0.01
# Groups that are nearer than the hosts around them by less than this share are of no use.
LEAST_GAIN = 0.06
# Several groups may be worth their price only together. What costs so many nats more hardly is.
_LONGEST_WAY_UP = 60.0

Sums = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Structure:
    """A structure and what it costs.

    Args:
        tree: that its nodes are of.
        nodes: of the groups, the root first.
        log_mean: (nodes,) the mean logarithm of the readings whose lowest common node it is.
        cost: negative log-likelihood and price, in nats; of readings as they are.
        cost_without: (nodes,) the cost where that group is left out; infinite for the root.
        deviation: the standard deviation of the logarithms.
    """

    tree: Dendrogram
    nodes: Sequence[int]
    log_mean: npt.NDArray[np.float64]
    cost: float
    cost_without: npt.NDArray[np.float64]
    deviation: float


def misfit(squares: float | Sums, readings: float, noise: float = LEAST_NOISE) -> float | Sums:
    """The negative log-likelihood in nats, but for a constant, of so large a sum of squares.

    Args:
        squares: of what logarithms are off by.
        readings: how many they are.
        noise: what they are off by at least, as a share of readings.
    """
    found: float | Sums = readings / 2.0 * np.log(squares / readings + noise**2)
    return found


def best_structure(tree: Dendrogram, noise: float = LEAST_NOISE) -> Structure:
    """The structure of least cost that adding groups, and then leaving some out, leads to."""
    return _StructureSearch(tree, noise).run()


class _StructureSearch:
    """Keeps the chosen nodes, and of each the sums over its own readings.

    A node's own readings are those below it that are not below a chosen node further down.
    """

    def __init__(self, tree: Dendrogram, noise: float) -> None:
        self._tree = tree
        self._noise = noise
        self._readings = max(float(tree.sums[tree.root, 0]), 1.0)
        self._chosen = [tree.root]
        # The nearest chosen node above each node, itself not counted.
        self._above = np.full(len(tree.size), tree.root)
        self._own = tree.sums.copy()
        self._price_of_mean = np.log(self._readings) / 2.0
        from scipy.special import gammaln  # noqa: PLC0415  SciPy takes long to import

        self._log_factorial = gammaln(np.arange(len(tree.hosts) + 1) + 1.0)

    def run(self) -> Structure:
        tree = self._tree
        candidates = np.arange(len(tree.hosts), tree.root)
        best_cost, best_count = self._cost(), 1
        while len(candidates):
            squares = self._squares_with(candidates)
            added = self._misfit(squares) + self._price(candidates)
            place = int(np.argmin(added))
            if not np.isfinite(added[place]):
                break
            self._add(int(candidates[place]))
            candidates = np.delete(candidates, place)
            cost = self._cost()
            if cost < best_cost:
                best_cost, best_count = cost, len(self._chosen)
            if cost > best_cost + _LONGEST_WAY_UP:
                break
        for node in self._chosen[best_count:][::-1]:
            self._remove(node)
        self._leave_out_what_is_not_worth_it()
        return self._structure()

    def _leave_out_what_is_not_worth_it(self) -> None:
        while len(self._chosen) > 1:
            without = self._costs_without()
            nearer = self._nearer()
            # What is hardly nearer than its surroundings goes first, whatever its evidence.
            weakest = int(np.argmin(nearer))
            if nearer[weakest] < np.log1p(LEAST_GAIN):
                self._remove(self._chosen[weakest])
                continue
            weakest = int(np.argmin(without))
            if without[weakest] > self._cost():
                return
            self._remove(self._chosen[weakest])

    def _structure(self) -> Structure:
        order = sorted(self._chosen, key=lambda node: -int(self._tree.size[node]))
        self._chosen = order
        return Structure(
            tree=self._tree,
            nodes=order,
            log_mean=_means(self._own[order]),
            cost=self._cost(),
            cost_without=self._costs_without(),
            deviation=float(np.sqrt(_squares(self._own[order]).sum() / self._readings)),
        )

    def _cost(self) -> float:
        squares = float(_squares(self._own[self._chosen]).sum())
        prices = self._price(np.array(self._chosen[1:], dtype=np.intp))
        return float(self._misfit(squares)) + float(prices.sum())

    def _misfit(self, squares: float | Sums) -> float | Sums:
        return misfit(squares, self._readings, self._noise)

    def _price(self, nodes: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """What it takes to say which hosts of the node above a group has, and its mean."""
        several, few = self._tree.size[self._above[nodes]], self._tree.size[nodes]
        ways = (
            self._log_factorial[several]
            - self._log_factorial[few]
            - self._log_factorial[several - few]
        )
        found: npt.NDArray[np.float64] = ways + self._price_of_mean
        return found

    def _squares_with(self, nodes: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """The sum of squares with each of these added; infinite where it is not nearer."""
        now = _squares(self._own[self._chosen]).sum()
        around = self._own[self._above[nodes]]
        inside = self._own[nodes]
        rest = around - inside
        change = _squares(inside) + _squares(rest) - _squares(around)
        is_nearer = (inside[:, 0] > 0.0) & (rest[:, 0] > 0.0) & (_means(inside) < _means(rest))
        return np.where(is_nearer, np.maximum(now + change, 0.0), np.inf)

    def _costs_without(self) -> npt.NDArray[np.float64]:
        """(chosen,) the cost with each group left out; infinite for the root."""
        chosen = np.array(self._chosen)
        own, around = self._own[chosen], self._own[self._above[chosen]]
        now = float(_squares(own).sum())
        more = _squares(around + own) - _squares(around) - _squares(own)
        found = self._cost() - self._price(chosen)
        found += self._misfit(now + more) - self._misfit(now)
        return np.where(chosen == self._tree.root, np.inf, found)

    def _nearer(self) -> npt.NDArray[np.float64]:
        """By how much each group's readings are less than those around it, in logarithms."""
        means = _means(self._own[self._chosen])
        around = _means(self._own[self._above[self._chosen]])
        is_root = np.array(self._chosen) == self._tree.root
        return np.where(is_root, np.inf, around - means)

    def _add(self, node: int) -> None:
        above = int(self._above[node])
        self._own[above] -= self._own[node]
        self._take_from_between(node, above, -self._own[node])
        below = self._tree.is_below(node)
        below[node] = False
        self._above[below & (self._above == above)] = node
        self._chosen.append(node)

    def _remove(self, node: int) -> None:
        above = int(self._above[node])
        self._own[above] += self._own[node]
        self._take_from_between(node, above, self._own[node])
        self._above[self._above == node] = above
        self._chosen.remove(node)

    def _take_from_between(self, node: int, above: int, change: Sums) -> None:
        """Nodes on the way up would have these readings of their own, or no longer."""
        between = int(self._tree.parent[node])
        while between != above:
            self._own[between] += change
            between = int(self._tree.parent[between])


def _squares(sums: Sums) -> npt.NDArray[np.float64]:
    """The sums of squared deviations from the means."""
    count = np.maximum(sums[:, 0], 1.0)
    return np.maximum(sums[:, 2] - sums[:, 1] ** 2 / count, 0.0)


def _means(sums: Sums) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = sums[:, 1] / np.maximum(sums[:, 0], 1.0)
    return found
