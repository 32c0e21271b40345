"""Exchanges within groups of ranks: near ones first, a smaller part of the buffer each time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.collectives.steps import exchange
from solvers.collectives.table import Ranks, Round


def group_pairs(ranks: int, group: int, distance: int) -> tuple[Ranks, Ranks]:
    """All pairs within groups of ranks that lie `distance` apart: the lower ranks and the higher.

    Args:
        ranks: a multiple of group x distance.
        group: how many ranks are in a group.
        distance: between the neighbours in a group.
    """
    every = np.arange(ranks)
    place = every // distance % group
    lows = [every[place < group - steps] for steps in range(1, group)]
    highs = [low + steps * distance for steps, low in enumerate(lows, start=1)]
    return np.concatenate(lows), np.concatenate(highs)


def scatter_in_groups(ranks: int, groups: Sequence[int], size_bytes: float) -> list[Round]:
    """A reduce-scatter: in each round every rank sends each of its group a part of what it holds.

    Args:
        ranks: the product of `groups`.
        groups: how many ranks are in a group, round by round.
        size_bytes: of the whole buffer.
    """
    rounds = []
    distance = 1
    for group in groups:
        pairs = group_pairs(ranks, group, distance)
        distance *= group
        rounds.append(exchange(*pairs, size_bytes / distance))
    return rounds
