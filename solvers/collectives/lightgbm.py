"""Messages of LightGBM's allreduce: reduce-scatter, then allgather (src/network/network.cpp).

The library takes recursive halving where ranks are a power of two or the buffer is below 10 MiB,
else the ring. It gathers by the ring above 10 MiB and below 64 ranks; else by recursive doubling
where ranks are a power of two, and by Bruck's algorithm where they are not. Buffers below 4 KiB,
or of fewer elements than ranks, are gathered whole, which is not modelled here.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.steps import (
    PeerTable,
    Round,
    exchange,
    group_pairs,
    list_doublings,
    power_below,
    ring_round,
    send,
)

# `kRingNodeThreshold`.
RING_RANKS = 64

Half = Callable[[int, float], list[Round]]


def recursive_halving(ranks: int, size_bytes: float) -> list[Round]:
    """Return the rounds of LightGBM's reduce-scatter by halving, farthest ranks (most data) first.

    In the last pairs of ranks beyond a power of two, the right one hands its buffer to the left
    one and gets its block in the end.
    """
    block_bytes = size_bytes / ranks
    leaders = power_below(ranks)
    alone = 2 * leaders - ranks
    leader = np.concatenate([np.arange(alone), np.arange(alone, ranks, 2)])
    blocks = np.where(np.arange(leaders) < alone, 1, 2)
    below = np.concatenate([[0], np.cumsum(blocks)])
    rounds = []
    for distance in reversed(list_doublings(leaders)):
        target = np.arange(leaders) ^ distance
        # Whatever the ranks on the target's side are responsible for.
        start = target // distance * distance
        sizes = (below[start + distance] - below[start]) * block_bytes
        rounds.append(send(leader, leader[target], sizes))
    if alone == leaders:
        return rounds
    right = np.arange(alone + 1, ranks, 2)
    return [send(right, right - 1, size_bytes), *rounds, send(right - 1, right, block_bytes)]


def recursive_doubling(ranks: int, size_bytes: float) -> list[Round]:
    """Return the rounds of an allgather by doubling among 2^k ranks, nearest ranks first."""
    return [
        exchange(*group_pairs(ranks, 2, distance), distance * size_bytes / ranks)
        for distance in list_doublings(ranks)
    ]


def bruck(ranks: int, size_bytes: float) -> list[Round]:
    """Return the rounds of Bruck's allgather: rank r sends to r - 1, then r - 2, r - 4, ..."""
    return [
        ring_round(ranks, -distance, min(distance, ranks - distance) * size_bytes / ranks)
        for distance in list_doublings(ranks)
    ]


def ring(ranks: int, size_bytes: float) -> list[Round]:
    """Return the N - 1 rounds of a reduce-scatter or allgather around a ring."""
    return [ring_round(ranks, 1, size_bytes / ranks)] * (ranks - 1)


def _combine_halves(
    name: str,
    about: str,
    halves: tuple[Half, Half],
    *,
    is_power_of_two: bool,
    ring_ranks: bool | None = None,
) -> Algorithm:
    """Return LightGBM's allreduce of two halves, a reduce-scatter followed by an allgather.

    The library takes it where `is_power_of_two` is true of the ranks, and where there are fewer
    than 64 (`ring_ranks`); None where that does not matter.
    """

    def table(ranks: int, size_bytes: int) -> PeerTable:
        scatter, gather = halves
        return PeerTable(ranks, [*scatter(ranks, size_bytes), *gather(ranks, size_bytes)])

    def refusal(ranks: int) -> str | None:
        if (power_below(ranks) == ranks) != is_power_of_two:
            wanted = "a power of two of ranks"
            if not is_power_of_two:
                wanted = "a number of ranks that is not a power of two"
            return f"{name} needs {wanted}, not {ranks}"
        if ring_ranks is not None and (ranks < RING_RANKS) != ring_ranks:
            bound = f"fewer than {RING_RANKS}" if ring_ranks else f"{RING_RANKS} or more"
            return f"{name} needs {bound} ranks, not {ranks}"
        return None

    return Algorithm(name, about, table, RingForm if halves == (ring, ring) else None, refusal)


ALL = (
    _combine_halves(
        "lightgbm-recursive-halving",
        "LightGBM, 2^k ranks: halving, farthest first, then doubling; up to 10 MiB below 64 ranks",
        (recursive_halving, recursive_doubling),
        is_power_of_two=True,
    ),
    _combine_halves(
        "lightgbm-recursive-halving-ring",
        "LightGBM, 2^k < 64 ranks, above 10 MiB: halving, farthest first, then a ring",
        (recursive_halving, ring),
        is_power_of_two=True,
        ring_ranks=True,
    ),
    _combine_halves(
        "lightgbm-bruck",
        "LightGBM, other than 2^k ranks, below 10 MiB: halving, farthest first, then Bruck",
        (recursive_halving, bruck),
        is_power_of_two=False,
    ),
    _combine_halves(
        "lightgbm-ring",
        "LightGBM, other than 2^k ranks and below 64, above 10 MiB: two rings",
        (ring, ring),
        is_power_of_two=False,
        ring_ranks=True,
    ),
    _combine_halves(
        "lightgbm-ring-bruck",
        "LightGBM, other than 2^k ranks and 64 or more, from 10 MiB: a ring, then Bruck",
        (ring, bruck),
        is_power_of_two=False,
        ring_ranks=False,
    ),
)
