"""The papers' algorithms: what they move, and what their forms sum up."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collective_replay import (
    check_flows,
    check_reduce_scatter,
    heard,
    most_sends_at_once,
    received_bytes,
    sent_bytes,
)
from plink.solvers.collectives import papers
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.steps import scatter_in_groups
from plink.solvers.collectives.trees import depths

SIZE_BYTES = 1 << 20
POWERS = [2, 4, 8, 16, 32, 64]


def edge_sets(form):
    return [{frozenset(edge) for edge in step.edges.tolist()} for step in form.rounds]


@given(st.integers(2, 40))
def test_ring_moves_each_rank_the_least_that_an_allreduce_can(ranks):
    table = papers.RING.table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert most_sends_at_once(table) == 1
    least = 2 * (ranks - 1) * SIZE_BYTES / ranks
    np.testing.assert_allclose(sent_bytes(table), least)
    np.testing.assert_allclose(received_bytes(table), least)
    assert papers.RING.form(ranks) == RingForm(ranks)


@pytest.mark.parametrize("ranks", POWERS)
def test_halving_doubling_moves_the_largest_half_to_the_nearest(ranks):
    table = papers.HALVING_DOUBLING.table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert most_sends_at_once(table) == 1
    np.testing.assert_allclose(sent_bytes(table), 2 * (ranks - 1) * SIZE_BYTES / ranks)
    between = table.bytes_between()
    assert between[0, 1] == SIZE_BYTES
    assert between[0, ranks // 2] == pytest.approx(2 * SIZE_BYTES / ranks)


def test_halving_doubling_form_is_the_reduce_scatter():
    form = papers.HALVING_DOUBLING.form(8)
    assert edge_sets(form) == [
        {frozenset(pair) for pair in pairs}
        for pairs in (
            [(0, 1), (2, 3), (4, 5), (6, 7)],
            [(0, 2), (1, 3), (4, 6), (5, 7)],
            [(0, 4), (1, 5), (2, 6), (3, 7)],
        )
    ]
    assert [step.weight for step in form.rounds] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("base", "ranks"), [(2, 16), (3, 27), (4, 4), (4, 64), (5, 25)])
def test_bcube_moves_the_least_through_groups(base, ranks):
    algorithm = find(f"bcube:{base}")
    table = algorithm.table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert most_sends_at_once(table) == base - 1
    np.testing.assert_allclose(sent_bytes(table), 2 * (ranks - 1) * SIZE_BYTES / ranks)
    rounds = edge_sets(algorithm.form(ranks))
    assert len(rounds) == len(table.rounds) // 2
    for place, edges in enumerate(rounds):
        for rank in range(ranks):
            peers = {next(iter(edge - {rank})) for edge in edges if rank in edge}
            block = rank // base ** (place + 1) * base ** (place + 1)
            offset = (rank - block) % base**place
            line = {block + offset + k * base**place for k in range(base)}
            assert peers == line - {rank}


@pytest.mark.parametrize("groups", [[2, 2, 2], [3, 3], [4, 2, 3], [7]])
def test_groups_leave_every_rank_its_block(groups):
    ranks = math.prod(groups)
    check_reduce_scatter(ranks, scatter_in_groups(ranks, groups, float(ranks)))


def test_bcube_of_pairs_is_halving_doubling():
    pairs = papers.HALVING_DOUBLING.table(32, SIZE_BYTES).bytes_between()
    np.testing.assert_array_equal(find("bcube:2").table(32, SIZE_BYTES).bytes_between(), pairs)


def test_tree_halves_the_ranks_and_its_mirror_is_one_rank_lower():
    first, second = papers.double_tree(8)
    assert first.tolist() == [1, 3, 1, -1, 5, 3, 5, 6]
    # Rank r - 1 stands where rank r stood.
    assert second.tolist() == [2, 0, -1, 4, 2, 4, 5, 0]


@given(st.integers(2, 200))
def test_double_tree_reaches_all_with_half_the_bytes_each(ranks):
    table = papers.TREE.table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert table.is_pipelined
    # An edge of each tree carries half the buffer, up and down.
    assert sent_bytes(table).sum() == pytest.approx(2 * (ranks - 1) * SIZE_BYTES)
    first, second = papers.TREE.form(ranks).parents
    for tree in (first, second):
        assert (tree == -1).sum() == 1
        assert np.bincount(tree[tree >= 0]).max() <= 2
        assert depths(tree[None]).max() == ranks.bit_length() - 1
    np.testing.assert_array_equal(np.sort(depths(first[None])), np.sort(depths(second[None])))


@pytest.mark.parametrize(
    ("name", "ranks", "reason"),
    [
        ("halving-doubling", 12, "halving-doubling needs a power of two of ranks, not 12"),
        ("bcube", 8, "bcube needs a power of 4 of ranks, not 8"),
        ("bcube:3", 4, "bcube:3 needs a power of 3 of ranks, not 4"),
        ("ring", 1, "ring needs at least 2 ranks, not 1"),
        ("tree", 0, "tree needs at least 2 ranks, not 0"),
    ],
)
def test_a_number_of_ranks_that_does_not_fit_is_refused_in_a_sentence(name, ranks, reason):
    algorithm = find(name)
    assert algorithm.refusal(ranks) == reason
    with pytest.raises(ValueError, match=reason):
        algorithm.table(ranks, SIZE_BYTES)
    with pytest.raises(ValueError, match=reason):
        algorithm.form(ranks)


def test_a_negative_size_is_refused():
    with pytest.raises(ValueError, match="size_bytes is -1"):
        papers.RING.table(4, -1)
