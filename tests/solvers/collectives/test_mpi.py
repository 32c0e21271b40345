"""Open MPI's and MPICH's algorithms, and the pairwise all-to-all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collective_replay import check_flows, heard, most_sends_at_once, received_bytes, sent_bytes
from plink.solvers.collectives import mpi
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.trees import depths

SIZE_BYTES = 1 << 20

DOUBLING = ["openmpi-recursive-doubling", "mpich-recursive-doubling"]
HALVING = ["openmpi-rabenseifner", "mpich-reduce-scatter-allgather"]


def power_and_extra(ranks):
    power = 1 << (ranks.bit_length() - 1)
    return power, ranks - power


def edge_weights(form):
    """The weight of every pair of ranks, all rounds together."""
    weights = {}
    for step in form.rounds:
        for low, high in step.edges.tolist():
            weights[low, high] = weights.get((low, high), 0.0) + step.weight
    return weights


@given(st.integers(2, 100), st.sampled_from([*DOUBLING, *HALVING, "openmpi-linear"]))
def test_all_ranks_hear_of_all_and_none_sends_to_two_at_once(ranks, name):
    table = find(name).table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    if name != "openmpi-linear":
        assert most_sends_at_once(table) == 1


@given(st.integers(2, 100), st.sampled_from(DOUBLING))
def test_recursive_doubling_sends_whole_buffers(ranks, name):
    table = find(name).table(ranks, SIZE_BYTES)
    power, extra = power_and_extra(ranks)
    doublings = power.bit_length() - 1
    # Even ranks of the first pairs send once and wait for the sum.
    expected = np.full(ranks, doublings * SIZE_BYTES, dtype=float)
    expected[: 2 * extra : 2] = SIZE_BYTES
    expected[1 : 2 * extra : 2] += SIZE_BYTES
    np.testing.assert_array_equal(sent_bytes(table), expected)
    np.testing.assert_array_equal(received_bytes(table), expected)


def test_recursive_doubling_pairs_those_who_stay_from_the_nearest():
    form = find("openmpi-recursive-doubling").form(6)
    assert [step.edges.tolist() for step in form.rounds] == [
        [[0, 1], [2, 3]],
        [[1, 3], [4, 5]],
        [[1, 4], [3, 5]],
    ]
    assert [step.weight for step in form.rounds] == [2.0, 1.0, 1.0]


@given(st.integers(2, 100))
def test_mpichs_rabenseifner_drops_the_even_ranks_with_whole_buffers(ranks):
    sent = sent_bytes(find("mpich-reduce-scatter-allgather").table(ranks, SIZE_BYTES))
    power, extra = power_and_extra(ranks)
    inner = 2 * (power - 1) * SIZE_BYTES / power
    np.testing.assert_allclose(sent[: 2 * extra : 2], SIZE_BYTES)
    np.testing.assert_allclose(sent[1 : 2 * extra : 2], inner + SIZE_BYTES)
    np.testing.assert_allclose(sent[2 * extra :], inner)


@given(st.integers(2, 100))
def test_open_mpis_rabenseifner_drops_the_odd_ranks_after_a_swap_of_halves(ranks):
    table = find("openmpi-rabenseifner").table(ranks, SIZE_BYTES)
    power, extra = power_and_extra(ranks)
    inner = 2 * (power - 1) * SIZE_BYTES / power
    sent = sent_bytes(table)
    np.testing.assert_allclose(sent[: 2 * extra : 2], inner + 1.5 * SIZE_BYTES)
    np.testing.assert_allclose(sent[1 : 2 * extra : 2], SIZE_BYTES)
    np.testing.assert_allclose(sent[2 * extra :], inner)
    np.testing.assert_allclose(received_bytes(table)[1 : 2 * extra : 2], 1.5 * SIZE_BYTES)


@pytest.mark.parametrize("name", HALVING)
def test_rabenseifner_moves_the_largest_half_to_the_nearest(name):
    between = find(name).table(8, SIZE_BYTES).bytes_between()
    assert between[0, 1] == SIZE_BYTES
    assert between[0, 2] == SIZE_BYTES / 2
    assert between[0, 4] == SIZE_BYTES / 4


def test_forms_of_rabenseifner_count_every_round_of_an_edge():
    # Rank 2 is left over: 0 and 1 swap, 1 hands on, 0 and 2 halve and double, 0 tells 1.
    assert edge_weights(find("openmpi-rabenseifner").form(3)) == {(0, 1): 3.0, (0, 2): 2.0}
    assert edge_weights(find("mpich-reduce-scatter-allgather").form(3)) == {
        (0, 1): 2.0,
        (1, 2): 2.0,
    }


def test_linear_goes_to_rank_0_and_back():
    table = find("openmpi-linear").table(5, 100)
    between = table.bytes_between()
    assert between[1:, 0].tolist() == between[0, 1:].tolist() == [100.0] * 4
    assert between.sum() == 800.0


@given(
    st.integers(2, 30),
    st.integers(0, 1 << 30),
    st.sampled_from(["openmpi-ring", "openmpi-segmented-ring", "mpich-ring"]),
)
def test_rings_move_the_least_to_the_next_rank(ranks, size_bytes, name):
    algorithm = find(name)
    assert algorithm.form(ranks) == RingForm(ranks)
    table = algorithm.table(ranks, size_bytes)
    check_flows(table)
    assert heard(table).all()
    if name == "mpich-ring" or size_bytes >= 4 * ranks:
        every = np.arange(ranks)
        between = table.bytes_between()
        expected = 2 * (ranks - 1) * size_bytes / ranks
        np.testing.assert_allclose(between[every, (every + 1) % ranks], expected)
        assert between.sum() == pytest.approx(ranks * expected)


@pytest.mark.parametrize("name", ["openmpi-ring", "openmpi-segmented-ring"])
def test_open_mpis_rings_double_recursively_below_one_float_a_rank(name):
    few = find(name).table(8, 28).bytes_between()
    np.testing.assert_array_equal(
        few, find("openmpi-recursive-doubling").table(8, 28).bytes_between()
    )


def test_the_segmented_ring_reduces_in_phases():
    algorithm = find("openmpi-segmented-ring")
    whole = 4 << 20
    assert len(algorithm.table(4, whole - 4).rounds) == 3 + 3
    assert len(algorithm.table(4, whole).rounds) == 3 + 3
    assert len(algorithm.table(4, 5 * whole // 2).rounds) == 2 * 3 + 3
    assert len(algorithm.table(4, 5 * whole // 2 + 4).rounds) == 3 * 3 + 3


@given(st.integers(2, 200), st.sampled_from(["mpich-tree", "mpich-tree-knomial"]))
def test_mpichs_trees_hang_from_rank_0_and_carry_whole_buffers(ranks, name):
    algorithm = find(name)
    table = algorithm.table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert not table.is_pipelined
    (parents,) = algorithm.form(ranks).parents
    assert np.flatnonzero(parents == -1).tolist() == [0]
    assert depths(parents[None]).max() <= ranks.bit_length()
    children = np.arange(1, ranks)
    between = np.zeros((ranks, ranks))
    between[children, parents[1:]] = between[parents[1:], children] = SIZE_BYTES
    np.testing.assert_array_equal(table.bytes_between(), between)


def test_mpichs_trees_are_those_of_its_sources():
    assert mpi.kary_tree(8).tolist() == [-1, 0, 0, 1, 1, 2, 2, 3]
    # The drawings above MPII_Treeutil_tree_knomial_1_init.
    assert mpi.knomial_tree(4).tolist() == [-1, 0, 1, 0]
    assert mpi.knomial_tree(8).tolist() == [-1, 0, 1, 2, 1, 0, 5, 0]


def test_a_binomial_tree_takes_its_logarithm_up_with_one_child_at_a_time():
    table = find("mpich-tree-knomial").table(16, SIZE_BYTES)
    up = table.rounds[: len(table.rounds) // 2]
    assert [len(step.sources) for step in up] == [8, 4, 2, 1]
    assert all(len(set(step.destinations.tolist())) == len(step.destinations) for step in up)


@given(st.integers(2, 60))
def test_all_to_all_gives_every_rank_a_part_of_every_buffer(ranks):
    algorithm = find("all-to-all")
    table = algorithm.table(ranks, SIZE_BYTES)
    check_flows(table)
    assert most_sends_at_once(table) == 1
    expected = np.full((ranks, ranks), SIZE_BYTES / ranks)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(table.bytes_between(), expected)
    # Rounds k and N - k have the same edges.
    weights = [step.weight for step in algorithm.form(ranks).rounds]
    assert weights == [2.0] * ((ranks - 1) // 2) + [1.0] * ((ranks - 1) % 2)
