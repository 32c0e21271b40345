"""Messages and latency cost of collective algorithms as papers describe them (Luo 2020, §5.2.1).

The paper counts the first half of halving-doubling and BCube, the reduce-scatter, in its cost, and
so do the forms here; the peer tables hold both halves.
"""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm, exchange_in_groups
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.nccl import tree_algorithm
from plink.solvers.collectives.steps import (
    PeerTable,
    Ranks,
    check_base,
    pairwise_rounds,
    power_below,
    ring_table,
    split_into_groups,
)

DEFAULT_BCUBE_BASE = 4


def bcube(base: int, name: str = "bcube", about: str | None = None) -> Algorithm:
    """Return a BCube allreduce: exchanges in groups of `base` ranks, 1, base, base², ... apart.

    Raises:
        ValueError: a base below 2.
    """

    def refusal(ranks: int) -> str | None:
        if power_below(ranks, base) == ranks:
            return None
        power = "two" if base == 2 else str(base)
        return f"{name} needs a power of {power} of ranks, not {ranks}"

    check_base(base)
    distances = f"groups of {base} ranks, at distances 1, {base}, {base**2}, ..."
    return exchange_in_groups(
        name,
        about or f"BCube of Luo 2020: {distances}",
        lambda ranks: split_into_groups(ranks, base),
        refusal,
        counts_first_half=True,
    )


def halved_tree(ranks: int) -> Ranks:
    """Return parents in a binary tree over ranks, (N,): a range's middle rank is its root."""
    parents = np.full(ranks, -1, dtype=np.intp)
    waiting = [(0, ranks - 1, -1)]
    while waiting:
        first, last, parent = waiting.pop()
        if first <= last:
            middle = (first + last) // 2
            parents[middle] = parent
            waiting += [(first, middle - 1, middle), (middle + 1, last, middle)]
    return parents


def double_tree(ranks: int) -> list[Ranks]:
    """Return the parents in both trees of a double binary tree, (N,) each; one is shifted by 1."""
    tree = halved_tree(ranks)
    # Every rank r becomes r - 1.
    return [tree, np.roll(np.where(tree >= 0, (tree - 1) % ranks, -1), -1)]


RING = Algorithm("ring", "ring of Luo 2020: every rank sends to the next", ring_table, RingForm)
HALVING_DOUBLING = bcube(
    2, "halving-doubling", "halving-doubling of Luo 2020: pairs at distances 1, 2, 4, ..."
)
TREE = tree_algorithm(
    "tree",
    "double binary tree of Luo 2020: by halving the ranks, and the same tree one rank on",
    double_tree,
)
BCUBE = bcube(DEFAULT_BCUBE_BASE)

ALL = (RING, HALVING_DOUBLING, TREE, BCUBE)

ALL_TO_ALL = (
    Algorithm(
        "all-to-all",
        "pairwise all-to-all: in round k every rank sends a part of its own to the k-th after it",
        lambda ranks, size_bytes: PeerTable(ranks, pairwise_rounds(ranks, size_bytes)),
        count_messages=lambda ranks: ranks * (ranks - 1),
        collective="all-to-all",
    ),
)
