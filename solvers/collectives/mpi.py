"""Messages of the allreduce algorithms of Open MPI and MPICH, round by round."""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.nccl import tree_algorithm
from plink.solvers.collectives.steps import (
    ELEMENT_BYTES,
    PeerTable,
    Ranks,
    exchange,
    fold_pairs,
    halving,
    list_remaining,
    recursive_doubling,
    reverse_rounds,
    ring_round,
    ring_table,
    send,
)

# What the library's own decision passes to the segmented ring.
SEGMENT_BYTES = 1 << 20

# MPICH's defaults: MPIR_CVAR_ALLREDUCE_TREE_KVAL, MPIR_CVAR_IALLREDUCE_TREE_KVAL.
TREE_ARITY = 2


def _linear(ranks: int, size_bytes: int) -> PeerTable:
    others = np.arange(1, ranks)
    gather = send(others, np.zeros_like(others), size_bytes)
    return PeerTable(ranks, [gather, *reverse_rounds([gather])])


def _ring(ranks: int, size_bytes: int) -> PeerTable:
    """Return the messages of Open MPI's ring allreduce: recursive doubling if elements < ranks."""
    if size_bytes // ELEMENT_BYTES < ranks:
        return recursive_doubling(ranks, size_bytes)
    return ring_table(ranks, size_bytes)


def _segmented_ring(ranks: int, size_bytes: int) -> PeerTable:
    """Return the messages of a ring allreduce whose reduce-scatter runs in phases, by segments."""
    phase_bytes = ranks * SEGMENT_BYTES
    if size_bytes < phase_bytes:
        return _ring(ranks, size_bytes)
    phases, rest = divmod(size_bytes, phase_bytes)
    phases += rest > phase_bytes // 2
    reduce = [ring_round(ranks, 1, size_bytes / (ranks * phases))] * (phases * (ranks - 1))
    gather = [ring_round(ranks, 1, size_bytes / ranks)] * (ranks - 1)
    return PeerTable(ranks, [*reduce, *gather])


def _rabenseifner(ranks: int, size_bytes: int) -> PeerTable:
    """Return the messages of Open MPI's Rabenseifner allreduce; excess odd ranks drop out first."""
    even, odd = fold_pairs(ranks)
    fold, unfold = [], []
    if len(even):
        fold = [exchange(even, odd, size_bytes / 2), send(odd, even, size_bytes / 2)]
        unfold = [send(even, odd, size_bytes)]
    scatter = halving(list_remaining(ranks, even), size_bytes)
    return PeerTable(ranks, [*fold, *scatter, *reverse_rounds(scatter), *unfold])


OPEN_MPI = (
    Algorithm(
        "openmpi-linear",
        "Open MPI's basic linear (1): all send to rank 0, which answers all",
        _linear,
    ),
    Algorithm(
        "openmpi-recursive-doubling",
        "Open MPI's recursive doubling (3): whole buffers at distances 1, 2, 4, ...",
        recursive_doubling,
    ),
    Algorithm("openmpi-ring", "Open MPI's ring (4): every rank sends to the next", _ring, RingForm),
    Algorithm(
        "openmpi-segmented-ring",
        "Open MPI's segmented ring (5) with segments of 1 MiB",
        _segmented_ring,
        RingForm,
    ),
    Algorithm(
        "openmpi-rabenseifner",
        "Open MPI's Rabenseifner (6): largest halves to the nearest",
        _rabenseifner,
    ),
)


def _reduce_scatter_allgather(ranks: int, size_bytes: int) -> PeerTable:
    """Return the messages of MPICH's Rabenseifner allreduce; excess even ranks drop out first."""
    even, odd = fold_pairs(ranks)
    fold = [send(even, odd, size_bytes)] if len(even) else []
    scatter = halving(list_remaining(ranks, odd), size_bytes)
    return PeerTable(ranks, [*fold, *scatter, *reverse_rounds(scatter), *reverse_rounds(fold)])


def kary_tree(ranks: int) -> Ranks:
    """Return parents in MPICH's tree `kary`, (N,): rank r's children are 2r + 1 and 2r + 2."""
    parents = (np.arange(ranks) - 1) // TREE_ARITY
    parents[0] = -1
    return parents


def knomial_tree(ranks: int) -> Ranks:
    """Return each rank's parent in MPICH's tree `knomial_1`, (N,); larger subtrees come first."""
    parents = np.full(ranks, -1, dtype=np.intp)
    digits = (ranks - 1).bit_length()
    waiting = [(0, digits)]
    while waiting:
        rank, span_bits = waiting.pop()
        child = rank + 1
        for bits in range(span_bits - 1, -1, -1):
            if child < ranks:
                parents[child] = rank
                waiting.append((child, bits))
            child += 1 << bits
    return parents


MPICH = (
    Algorithm(
        "mpich-recursive-doubling",
        "MPICH's recursive_doubling: whole buffers at distances 1, 2, 4, ...",
        recursive_doubling,
    ),
    Algorithm(
        "mpich-reduce-scatter-allgather",
        "MPICH's reduce_scatter_allgather (Rabenseifner): largest halves to the nearest",
        _reduce_scatter_allgather,
    ),
    Algorithm(
        "mpich-ring",
        "MPICH's ring (in 4.0 the non-blocking tsp_ring): every rank sends to the next",
        ring_table,
        RingForm,
    ),
    tree_algorithm(
        "mpich-tree",
        "MPICH 4.0's tsp_tree, kary: a binary tree with rank 0 as its root",
        lambda ranks: [kary_tree(ranks)],
        is_pipelined=False,
    ),
    tree_algorithm(
        "mpich-tree-knomial",
        "MPICH's tree, knomial_1 (the default since it is blocking): a binomial tree of rank 0",
        lambda ranks: [knomial_tree(ranks)],
        is_pipelined=False,
    ),
)
