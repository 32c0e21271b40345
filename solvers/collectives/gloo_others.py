"""Collectives of PyTorch's Gloo backend other than allreduce, with root 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm, define, few_messages, ring_messages
from plink.solvers.collectives.form import RingForm, rounds_form
from plink.solvers.collectives.steps import backwards, ring_round, ring_table, send, together
from plink.solvers.collectives.table import PeerTable, Round

_ROOT = 0
# A barrier's messages are empty but for their headers.
_HEADER_BYTES = 16


def _all_gather(ranks: int, size_bytes: int) -> PeerTable:
    """Return a ring in which parts are passed on in halves (gloo/allgather.cc)."""
    part = ring_round(ranks, 1, size_bytes / ranks)
    return PeerTable(ranks, [part] * (ranks - 1), is_pipelined=True)


def _broadcast(ranks: int, size_bytes: int) -> PeerTable:
    """Return a binomial tree of whole buffers, nearest ranks first."""
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


def _gather(ranks: int, size_bytes: int) -> PeerTable:
    return PeerTable(ranks, [_to_root(ranks, size_bytes)])


def _scatter(ranks: int, size_bytes: int) -> PeerTable:
    return PeerTable(ranks, backwards([_to_root(ranks, size_bytes)]))


def _all_to_all(ranks: int, size_bytes: int) -> PeerTable:
    """Return one round with all messages, which start at once (gloo/alltoall.cc)."""
    rounds = [ring_round(ranks, distance, size_bytes / ranks) for distance in range(1, ranks)]
    return PeerTable(ranks, [together(rounds)])


def _barrier(ranks: int, size_bytes: int) -> PeerTable:  # noqa: ARG001
    """Return rounds in which each rank notifies the one 1, 2, 4, ... after it (gloo/barrier.cc)."""
    rounds = []
    distance = 1
    while distance < ranks:
        rounds.append(ring_round(ranks, distance, _HEADER_BYTES))
        distance *= 2
    return PeerTable(ranks, rounds)


def _send_receive(ranks: int, size_bytes: int) -> PeerTable:
    return PeerTable(ranks, [ring_round(ranks, 1, size_bytes)])


def _pairs(ranks: int) -> int:
    return ranks * (ranks - 1)


def _in_rounds(
    name: str,
    about: str,
    table: Callable[[int, int], PeerTable],
    messages: Callable[[int], int],
) -> Algorithm:
    return define(
        f"gloo-{name}",
        f"Gloo's {name.replace('-', '')}: {about}",
        table,
        lambda ranks: rounds_form(ranks, table(ranks, ranks).rounds),
        messages=messages,
        collective=name,
    )


ALL = (
    define(
        "gloo-reduce-scatter",
        "PyTorch's reduce-scatter on Gloo: a ring allreduce of the whole buffer",
        lambda ranks, size_bytes: ring_table(ranks, size_bytes, step=-1, is_pipelined=True),
        RingForm,
        messages=ring_messages,
        collective="reduce-scatter",
    ),
    define(
        "gloo-all-gather",
        "Gloo's allgather: parts go round to the next rank",
        _all_gather,
        RingForm,
        messages=ring_messages,
        collective="all-gather",
    ),
    define(
        "gloo-send-receive",
        "on Gloo every rank sends to the next and receives from the one before",
        _send_receive,
        RingForm,
        messages=ring_messages,
        collective="send-receive",
    ),
    _in_rounds("broadcast", "rank 0 begins a binomial tree", _broadcast, few_messages),
    _in_rounds("reduce", "a ring reduces and scatters, rank 0 gathers", _reduce, few_messages),
    _in_rounds("gather", "all send their part to rank 0 at once", _gather, few_messages),
    _in_rounds("scatter", "rank 0 sends all their parts at once", _scatter, few_messages),
    _in_rounds("all-to-all", "everyone sends everyone a part at once", _all_to_all, _pairs),
    _in_rounds("barrier", "everyone tells those 1, 2, 4, ... after it", _barrier, few_messages),
)
