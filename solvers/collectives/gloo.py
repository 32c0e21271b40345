"""Messages of Gloo's collectives by round (gloo/allreduce.cc; legacy ones gloo/allreduce_*.h).

The root of those that have one is rank 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm, exchange_in_groups
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.collectives.steps import (
    PeerTable,
    Round,
    check_base,
    exchange,
    group_pairs,
    list_doublings,
    merge_into_one_round,
    pairwise_rounds,
    power_below,
    reverse_rounds,
    ring_round,
    ring_table,
    send,
    split_into_groups,
)

# gloo::Context's own.
DEFAULT_BCUBE_BASE = 2

_ROOT = 0
# A barrier's messages are empty but for their headers.
_HEADER_BYTES = 16


def binary_blocks(ranks: int) -> list[tuple[int, int]]:
    """Split ranks into blocks of powers of two, largest first; return first ranks and sizes."""
    blocks = []
    first = 0
    while first < ranks:
        size = power_below(ranks - first)
        blocks.append((first, size))
        first += size
    return blocks


def _halving_doubling(ranks: int, size_bytes: int) -> PeerTable:
    """Return the messages of Gloo's halving-doubling allreduce, in blocks of powers of two.

    A smaller block is done with its own halving sooner, so that its part is on the way to the
    larger block while that one still halves; the sum comes back while the larger one doubles.
    """
    blocks = binary_blocks(ranks)
    count = blocks[0][1].bit_length() - 1
    halving: list[list[Round]] = [[] for _ in range(count)]
    doubling: list[list[Round]] = [[] for _ in range(count)]
    for number, (first, size) in enumerate(blocks):
        steps = size.bit_length() - 1
        for step, distance in enumerate(list_doublings(size)):
            low, high = group_pairs(size, 2, distance)
            within = exchange(first + low, first + high, size_bytes / (2 * distance))
            halving[step].append(within)
            doubling[number + steps - 1 - step].append(within)
        if number > 0:
            first_above, size_above = blocks[number - 1]
            place = np.arange(size_above)
            larger, smaller = first_above + place, first + place % size
            halving[steps].append(send(smaller, larger, size_bytes / size_above))
            doubling[number - 1].append(send(larger, smaller, size_bytes / size_above))
    return PeerTable(
        ranks, [merge_into_one_round(rounds) for rounds in [*halving, *doubling] if rounds]
    )


def bcube_groups(ranks: int) -> list[int]:
    """Return the group size of each round of Gloo's bcube: 2 while that divides, then the rest."""
    groups = []
    while ranks % 2 == 0:
        groups.append(2)
        ranks //= 2
    return [*groups, ranks] if ranks > 1 else groups


def legacy_bcube(base: int, name: str = "gloo-bcube") -> Algorithm:
    """Return Gloo's legacy `AllreduceBcube` algorithm, with groups of `base` ranks each round.

    Raises:
        ValueError: a base below 2.
    """
    check_base(base)

    def refusal(ranks: int) -> str | None:
        if ranks % power_below(ranks, base) == 0:
            return None
        return f"{name} sums wrongly unless ranks are c x {base}^x with c < {base}, not {ranks}"

    about = f"Gloo's legacy bcube with base {base}: all-to-all in groups of {base} ranks"
    return exchange_in_groups(name, about, lambda ranks: split_into_groups(ranks, base), refusal)


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
    exchange_in_groups(
        "gloo-bcube-new",
        "Gloo's allreduce with algorithm BCUBE: pairs while two divides, then one group",
        bcube_groups,
    ),
)


def _broadcast(ranks: int, size_bytes: int) -> PeerTable:
    """Return a binomial broadcast of whole buffers from rank 0: to rank 1, then to 2 and 3, ..."""
    every = np.arange(ranks)
    rounds = [
        send(every[: min(distance, ranks - distance)], every[distance : 2 * distance], size_bytes)
        for distance in list_doublings(ranks)
    ]
    return PeerTable(ranks, rounds)


def _to_root(ranks: int, size_bytes: float) -> Round:
    """Return a round in which all other ranks send 1 / N of the buffer to the root."""
    others = np.arange(1, ranks)
    return send(others, np.full(ranks - 1, _ROOT), size_bytes / ranks)


def _reduce(ranks: int, size_bytes: int) -> PeerTable:
    """Return the messages of a reduce: a ring reduce-scatter, then a gather (gloo/reduce.cc)."""
    part = ring_round(ranks, -1, size_bytes / ranks)
    return PeerTable(ranks, [*[part] * (ranks - 1), _to_root(ranks, size_bytes)])


def _barrier(ranks: int, size_bytes: int) -> PeerTable:  # noqa: ARG001
    """Return rounds in which each rank notifies the one 1, 2, 4, ... after it (gloo/barrier.cc)."""
    distances = list_doublings(ranks)
    return PeerTable(ranks, [ring_round(ranks, each, _HEADER_BYTES) for each in distances])


def _describe(
    collective: str,
    about: str,
    table: Callable[[int, int], PeerTable],
    form: Callable[[int], Form] | None = None,
    count_messages: Callable[[int], int] | None = None,
) -> Algorithm:
    name = f"gloo-{collective}"
    about = f"Gloo's {collective.replace('-', '')}: {about}"
    return Algorithm(name, about, table, form, count_messages=count_messages, collective=collective)


OTHERS = (
    Algorithm(
        "gloo-reduce-scatter",
        "PyTorch's reduce-scatter on Gloo: a ring allreduce of the whole buffer",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, step=-1, is_pipelined=True),
        RingForm,
        collective="reduce-scatter",
    ),
    _describe(
        "all-gather",
        "parts go round to the next rank",
        # Parts are passed on in halves (gloo/allgather.cc).
        lambda ranks, size_bytes: PeerTable(
            ranks, [ring_round(ranks, 1, size_bytes / ranks)] * (ranks - 1), is_pipelined=True
        ),
        RingForm,
    ),
    Algorithm(
        "gloo-send-receive",
        "on Gloo every rank sends to the next and receives from the one before",
        lambda ranks, size_bytes: PeerTable(ranks, [ring_round(ranks, 1, size_bytes)]),
        RingForm,
        collective="send-receive",
    ),
    _describe("broadcast", "rank 0 begins a binomial tree", _broadcast),
    _describe("reduce", "a ring reduces and scatters, rank 0 gathers", _reduce),
    _describe(
        "gather",
        "all send their part to rank 0 at once",
        lambda ranks, size_bytes: PeerTable(ranks, [_to_root(ranks, size_bytes)]),
    ),
    _describe(
        "scatter",
        "rank 0 sends all their parts at once",
        lambda ranks, size_bytes: PeerTable(ranks, reverse_rounds([_to_root(ranks, size_bytes)])),
    ),
    _describe(
        "all-to-all",
        "everyone sends everyone a part at once",
        # All messages start at once (gloo/alltoall.cc).
        lambda ranks, size_bytes: PeerTable(
            ranks, [merge_into_one_round(pairwise_rounds(ranks, size_bytes))]
        ),
        count_messages=lambda ranks: ranks * (ranks - 1),
    ),
    _describe("barrier", "everyone tells those 1, 2, 4, ... after it", _barrier),
)
