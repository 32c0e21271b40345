"""NCCL's double binary tree and ring."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collective_replay import check_flows, heard, sent_bytes
from plink.solvers.collectives import nccl
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.trees import depths

SIZE_BYTES = 1 << 20


@pytest.mark.parametrize(
    ("ranks", "first", "second"),
    [
        (2, [-1, 0], [1, -1]),
        (4, [-1, 2, 0, 2], [1, 3, 1, -1]),
        (5, [-1, 2, 4, 2, 0], [1, -1, 3, 0, 3]),
        (6, [-1, 2, 4, 2, 0, 4], [1, 5, 3, 1, 3, -1]),
        (8, [-1, 2, 4, 2, 0, 6, 4, 6], [1, 3, 1, 7, 5, 3, 5, -1]),
    ],
)
def test_parents_are_those_of_nccl(ranks, first, second):
    assert [tree.tolist() for tree in nccl.double_tree(ranks)] == [first, second]
    assert [tree.tolist() for tree in find("nccl-tree").form(ranks).parents] == [first, second]


@given(st.integers(2, 300))
def test_double_tree_reaches_all_and_loads_no_rank_twice(ranks):
    table = find("nccl-tree").table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert table.is_pipelined
    trees = nccl.double_tree(ranks)
    assert all((tree == -1).sum() == 1 for tree in trees)
    assert all(depths(tree[None]).max() <= ranks.bit_length() for tree in trees)
    assert sent_bytes(table).sum() == pytest.approx(2 * (ranks - 1) * SIZE_BYTES)
    # At most one parent and two children in one tree, and a parent in the other.
    assert sent_bytes(table).max() <= 2.0 * SIZE_BYTES
    if ranks % 2 == 0:
        inner = [set(tree[tree >= 0].tolist()) for tree in trees]
        assert inner[0] & inner[1] == set()


@given(st.integers(2, 60))
def test_ring_is_pipelined_to_the_next(ranks):
    table = find("nccl-ring").table(ranks, SIZE_BYTES)
    assert heard(table).all()
    assert table.is_pipelined
    assert len(table.rounds) == 2 * (ranks - 1)
    assert (table.rounds[0].destinations == (table.rounds[0].sources + 1) % ranks).all()
    np.testing.assert_allclose(sent_bytes(table), 2 * (ranks - 1) * SIZE_BYTES / ranks)
    assert find("nccl-ring").form(ranks) == RingForm(ranks)
