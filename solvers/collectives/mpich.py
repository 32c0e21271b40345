"""MPICH's allreduce algorithms (src/mpi/coll/allreduce and iallreduce)."""

from __future__ import annotations

import numpy as np

from plink.solvers.collectives.algorithm import define, ring_messages
from plink.solvers.collectives.exchanges import (
    fold_pairs,
    halving,
    list_remaining,
    recursive_doubling,
)
from plink.solvers.collectives.form import RingForm, TreesForm, rounds_form
from plink.solvers.collectives.steps import backwards, ring_table, send
from plink.solvers.collectives.table import PeerTable, Ranks
from plink.solvers.collectives.trees import tree_table

# MPICH's defaults: MPIR_CVAR_ALLREDUCE_TREE_KVAL, MPIR_CVAR_IALLREDUCE_TREE_KVAL.
TREE_ARITY = 2


def _reduce_scatter_allgather(ranks: int, size_bytes: int) -> PeerTable:
    """Return halving and doubling in which the first even ranks drop out."""
    even, odd = fold_pairs(ranks)
    fold = [send(even, odd, size_bytes)] if len(even) else []
    scatter = halving(list_remaining(ranks, odd), size_bytes)
    return PeerTable(ranks, [*fold, *scatter, *backwards(scatter), *backwards(fold)])


def kary_tree(ranks: int) -> Ranks:
    """Return parents in the tree `kary`, (N,): rank r's children are 2r + 1 and 2r + 2."""
    parents = (np.arange(ranks) - 1) // TREE_ARITY
    parents[0] = -1
    return parents


def knomial_tree(ranks: int) -> Ranks:
    """Return parents in the tree `knomial_1`, (N,): larger subtrees come first."""
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


ALL = (
    define(
        "mpich-recursive-doubling",
        "MPICH's recursive_doubling: whole buffers at distances 1, 2, 4, ...",
        recursive_doubling,
        lambda ranks: rounds_form(ranks, recursive_doubling(ranks, ranks).rounds),
    ),
    define(
        "mpich-reduce-scatter-allgather",
        "MPICH's reduce_scatter_allgather (Rabenseifner): largest halves to the nearest",
        _reduce_scatter_allgather,
        lambda ranks: rounds_form(ranks, _reduce_scatter_allgather(ranks, ranks).rounds),
    ),
    define(
        "mpich-ring",
        "MPICH's ring (in 4.0 the non-blocking tsp_ring): every rank sends to the next",
        ring_table,
        RingForm,
        messages=ring_messages,
    ),
    define(
        "mpich-tree",
        "MPICH 4.0's tsp_tree, kary: a binary tree with rank 0 as its root",
        lambda ranks, size_bytes: tree_table([kary_tree(ranks)], size_bytes, is_pipelined=False),
        lambda ranks: TreesForm(ranks, [kary_tree(ranks)]),
    ),
    define(
        "mpich-tree-knomial",
        "MPICH's tree, knomial_1 (the default since it is blocking): a binomial tree of rank 0",
        lambda ranks, size_bytes: tree_table([knomial_tree(ranks)], size_bytes, is_pipelined=False),
        lambda ranks: TreesForm(ranks, [knomial_tree(ranks)]),
    ),
)
