"""Open MPI's allreduce algorithms in `coll/tuned` (ompi/mca/coll/base/coll_base_allreduce.c).

Left out are those that call other collectives and so depend on how these are tuned:
`nonoverlapping` (a reduce and a broadcast) and the allreduce by allgather.
"""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.algorithm import define, ring_messages
from plink.solvers.collectives.exchanges import (
    fold_pairs,
    halving,
    list_remaining,
    recursive_doubling,
)
from plink.solvers.collectives.form import RingForm, rounds_form
from plink.solvers.collectives.steps import (
    ELEMENT_BYTES,
    backwards,
    exchange,
    ring_round,
    ring_table,
    send,
)
from plink.solvers.collectives.table import PeerTable

# What the library's own decision passes to the segmented ring.
SEGMENT_BYTES = 1 << 20


def _linear(ranks: int, size_bytes: int) -> PeerTable:
    others = np.arange(1, ranks)
    gather = send(others, np.zeros_like(others), size_bytes)
    return PeerTable(ranks, [gather, *backwards([gather])])


def _ring(ranks: int, size_bytes: int) -> PeerTable:
    """Return the ring, or recursive doubling if there are fewer elements than ranks."""
    if size_bytes // ELEMENT_BYTES < ranks:
        return recursive_doubling(ranks, size_bytes)
    return ring_table(ranks, size_bytes)


def _segmented_ring(ranks: int, size_bytes: int) -> PeerTable:
    """Return a ring whose reduce-scatter runs in phases, each over a part of every block."""
    phase_bytes = ranks * SEGMENT_BYTES
    if size_bytes < phase_bytes:
        return _ring(ranks, size_bytes)
    phases, rest = divmod(size_bytes, phase_bytes)
    phases += rest > phase_bytes // 2
    reduce = [ring_round(ranks, 1, size_bytes / (ranks * phases))] * (phases * (ranks - 1))
    gather = [ring_round(ranks, 1, size_bytes / ranks)] * (ranks - 1)
    return PeerTable(ranks, [*reduce, *gather])


def _rabenseifner(ranks: int, size_bytes: int) -> PeerTable:
    """Return halving and doubling in which the first odd ranks drop out."""
    even, odd = fold_pairs(ranks)
    fold, unfold = [], []
    if len(even):
        fold = [exchange(even, odd, size_bytes / 2), send(odd, even, size_bytes / 2)]
        unfold = [send(even, odd, size_bytes)]
    scatter = halving(list_remaining(ranks, even), size_bytes)
    return PeerTable(ranks, [*fold, *scatter, *backwards(scatter), *unfold])


ALL = (
    define(
        "openmpi-linear",
        "Open MPI's basic linear (1): all send to rank 0, which answers all",
        _linear,
        lambda ranks: rounds_form(ranks, _linear(ranks, ranks).rounds),
    ),
    define(
        "openmpi-recursive-doubling",
        "Open MPI's recursive doubling (3): whole buffers at distances 1, 2, 4, ...",
        recursive_doubling,
        lambda ranks: rounds_form(ranks, recursive_doubling(ranks, ranks).rounds),
    ),
    define(
        "openmpi-ring",
        "Open MPI's ring (4): every rank sends to the next",
        _ring,
        RingForm,
        messages=ring_messages,
    ),
    define(
        "openmpi-segmented-ring",
        "Open MPI's segmented ring (5) with segments of 1 MiB",
        _segmented_ring,
        RingForm,
        messages=ring_messages,
    ),
    define(
        "openmpi-rabenseifner",
        "Open MPI's Rabenseifner (6): largest halves to the nearest",
        _rabenseifner,
        lambda ranks: rounds_form(ranks, _rabenseifner(ranks, ranks).rounds),
    ),
)
