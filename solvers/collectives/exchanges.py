"""Rounds of exchanges: within groups of ranks, and by recursive doubling and halving.

Near ranks come first, with a smaller part of the buffer each time. The MPI libraries fold the ranks
beyond 2^k away.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers.collectives.steps import backwards, exchange, power_below, send
from plink.solvers.collectives.table import PeerTable, Ranks, Round


def group_pairs(ranks: int, group: int, distance: int) -> tuple[Ranks, Ranks]:
    """Return lower and higher rank of all pairs in groups of ranks `distance` apart.

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
    """Return a reduce-scatter in rounds where each rank sends a part to all of its group.

    Args:
        ranks: the product of `groups`.
        groups: how many ranks are in a group, round by round.
        size_bytes: size of the whole buffer, in bytes.
    """
    rounds = []
    distance = 1
    for group in groups:
        pairs = group_pairs(ranks, group, distance)
        distance *= group
        rounds.append(exchange(*pairs, size_bytes / distance))
    return rounds


def messages_in_groups(ranks: int, groups: Sequence[int]) -> int:
    """Return the number of messages of `scatter_in_groups`."""
    return ranks * sum(group - 1 for group in groups)


def fold_pairs(ranks: int) -> tuple[Ranks, Ranks]:
    """Return the pairs of neighbours that are merged so that 2^k ranks remain.

    Returns:
        (e,) the even ranks, (e,) the odd ranks, with N = 2^k + e.
    """
    even = 2 * np.arange(ranks - power_below(ranks))
    return even, even + 1


def list_remaining(ranks: int, kept: Ranks) -> Ranks:
    """Return the ranks that remain, (2^k,): one of every folded pair, and all unpaired ones."""
    return np.concatenate([kept, np.arange(2 * len(kept), ranks)])


def recursive_doubling(ranks: int, size_bytes: int) -> PeerTable:
    """Return exchanges of whole buffers at distances 1, 2, 4, ..., as in Open MPI and MPICH.

    The even ranks of the first pairs drop out.
    """
    even, odd = fold_pairs(ranks)
    members = list_remaining(ranks, odd)
    fold = [send(even, odd, size_bytes)] if len(even) else []
    distances = [1 << bit for bit in range(len(members).bit_length() - 1)]
    pairs = [group_pairs(len(members), 2, distance) for distance in distances]
    rounds = [exchange(members[low], members[high], size_bytes) for low, high in pairs]
    return PeerTable(ranks, [*fold, *rounds, *backwards(fold)])


def halving(members: Ranks, size_bytes: float) -> list[Round]:
    """Return a reduce-scatter by halving: halves at distance 1, quarters at 2, and so on.

    Args:
        members: (2^k,) the ranks that take part.
        size_bytes: size of the buffer, in bytes.
    """
    groups = [2] * (len(members).bit_length() - 1)
    return [
        Round(members[step.sources], members[step.destinations], step.sizes_bytes)
        for step in scatter_in_groups(len(members), groups, size_bytes)
    ]
