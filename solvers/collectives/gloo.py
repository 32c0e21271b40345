"""Gloo's collectives (gloo/allreduce.cc, and gloo/allreduce_*.h for legacy ones).

The root of those that have one is rank 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.steps import (
    PeerTable,
    Ranks,
    Round,
    exchange,
    group_pairs,
    merge_into_one_round,
    messages_in_groups,
    pairwise_rounds,
    power_below,
    reverse_rounds,
    ring_round,
    ring_table,
    scatter_in_groups,
    send,
)

# gloo::Context's own.
DEFAULT_BCUBE_BASE = 2

_ROOT = 0
# A barrier's messages are empty but for their headers.
_HEADER_BYTES = 16


def binary_blocks(ranks: int) -> list[tuple[int, int]]:
    """Return the first rank and the size of each block: powers of two, the largest first."""
    blocks = []
    first = 0
    while first < ranks:
        size = power_below(ranks - first)
        blocks.append((first, size))
        first += size
    return blocks


def _pair_blocks(larger: tuple[int, int], smaller: tuple[int, int]) -> tuple[Ranks, Ranks]:
    """Return the ranks of the larger block and their partners in the smaller block."""
    place = np.arange(larger[1])
    return larger[0] + place, smaller[0] + place % smaller[1]


def _exchange_in_block(block: tuple[int, int], distance: int, size_bytes: int) -> Round:
    """Return a round in which pairs of ranks of a block exchange half of their data."""
    low, high = group_pairs(block[1], 2, distance)
    return exchange(block[0] + low, block[0] + high, size_bytes / (2 * distance))


def _halving_doubling(ranks: int, size_bytes: int) -> PeerTable:
    """Return halving and doubling within blocks and between neighbouring blocks.

    A smaller block is done with its own halving sooner, so that its part is on the way to the
    larger block while that one still halves; the sum comes back while the larger one doubles.
    """
    blocks = binary_blocks(ranks)
    count = blocks[0][1].bit_length() - 1
    halving: list[list[Round]] = [[] for _ in range(count)]
    doubling: list[list[Round]] = [[] for _ in range(count)]
    for number, block in enumerate(blocks):
        steps = block[1].bit_length() - 1
        for step in range(steps):
            within = _exchange_in_block(block, 1 << step, size_bytes)
            halving[step].append(within)
            doubling[number + steps - 1 - step].append(within)
        if number > 0:
            above = blocks[number - 1]
            larger, smaller = _pair_blocks(above, block)
            halving[steps].append(send(smaller, larger, size_bytes / above[1]))
            doubling[number - 1].append(send(larger, smaller, size_bytes / above[1]))
    return PeerTable(
        ranks, [merge_into_one_round(rounds) for rounds in [*halving, *doubling] if rounds]
    )


def _in_groups(groups: list[int], ranks: int, size_bytes: int) -> PeerTable:
    scatter = scatter_in_groups(ranks, groups, size_bytes)
    return PeerTable(ranks, [*scatter, *reverse_rounds(scatter)])


def legacy_bcube_groups(ranks: int, base: int) -> list[int]:
    """Return the group size of each round: the base, then what remains."""
    groups = []
    while ranks >= base:
        groups.append(base)
        ranks //= base
    return [*groups, ranks] if ranks > 1 else groups


def bcube_groups(ranks: int) -> list[int]:
    """Return the group size of each round: two while that divides, then what remains."""
    groups = []
    while ranks % 2 == 0:
        groups.append(2)
        ranks //= 2
    return [*groups, ranks] if ranks > 1 else groups


def legacy_bcube(base: int, name: str = "gloo-bcube") -> Algorithm:
    """Return Gloo's legacy `AllreduceBcube`.

    Args:
        base: how many ranks are in a group; Gloo's `Context::base`.
        name: name of the algorithm.

    Raises:
        ValueError: a base below 2.
    """
    if base < 2:
        raise ValueError(f"a BCube has groups of at least 2 ranks, not {base}")

    def refusal(ranks: int) -> str | None:
        if ranks % power_below(ranks, base) == 0:
            return None
        return f"{name} sums wrongly unless ranks are c x {base}^x with c < {base}, not {ranks}"

    def table(ranks: int, size_bytes: int) -> PeerTable:
        return _in_groups(legacy_bcube_groups(ranks, base), ranks, size_bytes)

    about = f"Gloo's legacy bcube with base {base}: all-to-all in groups of {base} ranks"
    return Algorithm(
        name,
        about,
        table,
        find_refusal=refusal,
        count_messages=lambda ranks: messages_in_groups(ranks, legacy_bcube_groups(ranks, base)),
    )


ALL = (
    Algorithm(
        "gloo-ring",
        "Gloo's allreduce today: every rank sends to the one before it, in segments",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, step=-1, is_pipelined=True),
        RingForm,
    ),
    Algorithm(
        "gloo-ring-legacy",
        "Gloo's legacy allreduce_ring: every rank sends whole buffers to the next",
        lambda ranks, size_bytes: PeerTable(
            ranks, [ring_round(ranks, 1, size_bytes)] * (ranks - 1)
        ),
        RingForm,
    ),
    Algorithm(
        "gloo-ring-chunked",
        "Gloo's legacy allreduce_ring_chunked: every rank sends to the next, two chunks at a time",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, is_pipelined=True),
        RingForm,
    ),
    Algorithm(
        "gloo-halving-doubling",
        "Gloo's legacy halving-doubling: largest halves to the nearest, in binary blocks",
        _halving_doubling,
    ),
    legacy_bcube(DEFAULT_BCUBE_BASE),
    Algorithm(
        "gloo-bcube-new",
        "Gloo's allreduce with algorithm BCUBE: pairs while two divides, then one group",
        lambda ranks, size_bytes: _in_groups(bcube_groups(ranks), ranks, size_bytes),
        count_messages=lambda ranks: messages_in_groups(ranks, bcube_groups(ranks)),
    ),
)


def _broadcast(ranks: int, size_bytes: int) -> PeerTable:
    """Return a binomial broadcast of whole buffers from rank 0: to rank 1, then to 2 and 3, ..."""
    rounds = []
    distance = 1
    while distance < ranks:
        senders = np.arange(min(distance, ranks - distance))
        rounds.append(send(senders, senders + distance, size_bytes))
        distance *= 2
    return PeerTable(ranks, rounds)


def _to_root(ranks: int, size_bytes: float) -> Round:
    """Return the round in which all others send a part to the root."""
    others = np.arange(1, ranks)
    return send(others, np.full(ranks - 1, _ROOT), size_bytes / ranks)


def _reduce(ranks: int, size_bytes: int) -> PeerTable:
    """Return a reduce-scatter in a ring and a gather at the root (gloo/reduce.cc)."""
    part = ring_round(ranks, -1, size_bytes / ranks)
    return PeerTable(ranks, [*[part] * (ranks - 1), _to_root(ranks, size_bytes)])


def _barrier(ranks: int, size_bytes: int) -> PeerTable:  # noqa: ARG001
    """Return rounds in which each rank notifies the one 1, 2, 4, ... after it (gloo/barrier.cc)."""
    rounds = []
    distance = 1
    while distance < ranks:
        rounds.append(ring_round(ranks, distance, _HEADER_BYTES))
        distance *= 2
    return PeerTable(ranks, rounds)


def _in_rounds(collective: str, about: str, table: Callable[[int, int], PeerTable]) -> Algorithm:
    about = f"Gloo's {collective.replace('-', '')}: {about}"
    return Algorithm(f"gloo-{collective}", about, table, collective=collective)


OTHERS = (
    Algorithm(
        "gloo-reduce-scatter",
        "PyTorch's reduce-scatter on Gloo: a ring allreduce of the whole buffer",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, step=-1, is_pipelined=True),
        RingForm,
        collective="reduce-scatter",
    ),
    Algorithm(
        "gloo-all-gather",
        "Gloo's allgather: parts go round to the next rank",
        # Parts are passed on in halves (gloo/allgather.cc).
        lambda ranks, size_bytes: PeerTable(
            ranks, [ring_round(ranks, 1, size_bytes / ranks)] * (ranks - 1), is_pipelined=True
        ),
        RingForm,
        collective="all-gather",
    ),
    Algorithm(
        "gloo-send-receive",
        "on Gloo every rank sends to the next and receives from the one before",
        lambda ranks, size_bytes: PeerTable(ranks, [ring_round(ranks, 1, size_bytes)]),
        RingForm,
        collective="send-receive",
    ),
    _in_rounds("broadcast", "rank 0 begins a binomial tree", _broadcast),
    _in_rounds("reduce", "a ring reduces and scatters, rank 0 gathers", _reduce),
    _in_rounds(
        "gather",
        "all send their part to rank 0 at once",
        lambda ranks, size_bytes: PeerTable(ranks, [_to_root(ranks, size_bytes)]),
    ),
    _in_rounds(
        "scatter",
        "rank 0 sends all their parts at once",
        lambda ranks, size_bytes: PeerTable(ranks, reverse_rounds([_to_root(ranks, size_bytes)])),
    ),
    replace(
        _in_rounds(
            "all-to-all",
            "everyone sends everyone a part at once",
            # All messages start at once (gloo/alltoall.cc).
            lambda ranks, size_bytes: PeerTable(
                ranks, [merge_into_one_round(pairwise_rounds(ranks, size_bytes))]
            ),
        ),
        count_messages=lambda ranks: ranks * (ranks - 1),
    ),
    _in_rounds("barrier", "everyone tells those 1, 2, 4, ... after it", _barrier),
)
