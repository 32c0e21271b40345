"""The algorithms as the papers write them (Luo 2020, §5.2.1).

The paper counts the first half of halving-doubling and BCube, the reduce-scatter, in its cost, and
so do the forms here; the peer tables hold both halves.
"""

from __future__ import annotations

import numpy as np

from solvers.collectives.algorithm import Algorithm
from solvers.collectives.define import define
from solvers.collectives.form import RingForm, RoundsForm, TreesForm
from solvers.collectives.rings import ring_table
from solvers.collectives.steps import exchange, pairs_at, power_below, weighted
from solvers.collectives.table import PeerTable, Ranks
from solvers.collectives.trees import tree_table

DEFAULT_BCUBE_BASE = 4


def _no_power_of_two(ranks: int) -> str | None:
    if power_below(ranks) == ranks:
        return None
    return f"halving-doubling needs a power of two of ranks, not {ranks}"


def _halving_doubling_table(ranks: int, size_bytes: int) -> PeerTable:
    distances = [1 << bit for bit in range(ranks.bit_length() - 1)]
    halves = [
        exchange(*pairs_at(ranks, distance), size_bytes / (2 * distance)) for distance in distances
    ]
    return PeerTable(ranks, [*halves, *reversed(halves)])


def _halving_doubling_form(ranks: int) -> RoundsForm:
    distances = [1 << bit for bit in range(ranks.bit_length() - 1)]
    return RoundsForm(ranks, [weighted(*pairs_at(ranks, distance)) for distance in distances])


def bcube_pairs(ranks: int, base: int, distance: int) -> tuple[Ranks, Ranks]:
    """The pairs of ranks whose numbers differ in one digit: the lower ranks and the higher.

    Args:
        ranks: a multiple of base x distance.
        base: of the digits.
        distance: the power of the base that the digit counts.
    """
    every = np.arange(ranks)
    digit = every // distance % base
    lows = [every[digit < base - steps] for steps in range(1, base)]
    highs = [low + steps * distance for steps, low in enumerate(lows, start=1)]
    return np.concatenate(lows), np.concatenate(highs)


def _bcube_distances(ranks: int, base: int) -> list[int]:
    distances = [1]
    while distances[-1] * base < ranks:
        distances.append(distances[-1] * base)
    return distances


def bcube(base: int, name: str = "bcube") -> Algorithm:
    """BCube: in each round, groups of `base` ranks reduce and scatter among themselves.

    Args:
        base: ranks in a group.
        name: of the algorithm.

    Raises:
        ValueError: a base below 2.
    """
    if base < 2:
        raise ValueError(f"a BCube has groups of at least 2 ranks, not {base}")

    def refusal(ranks: int) -> str | None:
        if power_below(ranks, base) == ranks:
            return None
        return f"{name} needs a power of {base} of ranks, not {ranks}"

    def table(ranks: int, size_bytes: int) -> PeerTable:
        halves = [
            exchange(*bcube_pairs(ranks, base, distance), size_bytes / (base * distance))
            for distance in _bcube_distances(ranks, base)
        ]
        return PeerTable(ranks, [*halves, *reversed(halves)])

    def form(ranks: int) -> RoundsForm:
        return RoundsForm(
            ranks,
            [
                weighted(*bcube_pairs(ranks, base, distance))
                for distance in _bcube_distances(ranks, base)
            ],
        )

    about = f"BCube of Luo 2020: groups of {base} ranks, at distances 1, {base}, {base**2}, ..."
    return define(name, about, table, form, refusal)


def halved_tree(ranks: int) -> Ranks:
    """(N,) parents in the binary tree whose root is the middle rank, and so on in both halves."""
    parents = np.full(ranks, -1, dtype=np.intp)
    waiting = [(0, ranks - 1, -1)]
    while waiting:
        first, last, parent = waiting.pop()
        if first <= last:
            middle = (first + last) // 2
            parents[middle] = parent
            waiting += [(first, middle - 1, middle), (middle + 1, last, middle)]
    return parents


def decremented(parents: Ranks) -> Ranks:
    """(N,) parents in the tree that has rank r - 1 (modulo N) in the place of rank r."""
    ranks = len(parents)
    return np.roll(np.where(parents >= 0, (parents - 1) % ranks, -1), -1)


def double_tree(ranks: int) -> list[Ranks]:
    """The parents in both trees of the double binary tree."""
    tree = halved_tree(ranks)
    return [tree, decremented(tree)]


RING = define(
    "ring",
    "ring of Luo 2020: every rank sends to the next",
    ring_table,
    RingForm,
)
HALVING_DOUBLING = define(
    "halving-doubling",
    "halving-doubling of Luo 2020: pairs at distances 1, 2, 4, ...",
    _halving_doubling_table,
    _halving_doubling_form,
    _no_power_of_two,
)
TREE = define(
    "tree",
    "double binary tree of Luo 2020: by halving the ranks, and the same tree one rank on",
    lambda ranks, size_bytes: tree_table(double_tree(ranks), size_bytes, is_pipelined=True),
    lambda ranks: TreesForm(ranks, double_tree(ranks)),
)
BCUBE = bcube(DEFAULT_BCUBE_BASE)
