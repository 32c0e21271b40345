"""Gloo's algorithms: which rank has which peers, and what they move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collective_replay import check_flows, heard, most_sends_at_once, received_bytes, sent_bytes
from plink.solvers.collectives import gloo
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.steps import split_into_groups

SIZE_BYTES = 1 << 20


@given(st.integers(2, 60), st.sampled_from([("gloo-ring", -1), ("gloo-ring-chunked", 1)]))
def test_rings_send_a_part_at_a_time_one_way(ranks, ring):
    name, step = ring
    table = find(name).table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    assert table.is_pipelined
    between = np.zeros((ranks, ranks))
    between[np.arange(ranks), (np.arange(ranks) + step) % ranks] = 2 * (ranks - 1) / ranks
    np.testing.assert_allclose(table.bytes_between(), between * SIZE_BYTES)
    assert find(name).form(ranks) == RingForm(ranks)


@given(st.integers(2, 60))
def test_the_plain_legacy_ring_sends_whole_buffers(ranks):
    table = find("gloo-ring-legacy").table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    np.testing.assert_array_equal(sent_bytes(table), (ranks - 1) * SIZE_BYTES)


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_halving_doubling_of_a_power_of_two_is_the_papers(ranks):
    ours = find("gloo-halving-doubling").table(ranks, SIZE_BYTES)
    papers = find("halving-doubling").table(ranks, SIZE_BYTES)
    np.testing.assert_array_equal(ours.bytes_between(), papers.bytes_between())
    weights = [step.weight for step in find("gloo-halving-doubling").form(ranks).rounds]
    assert weights == [2.0] * (ranks.bit_length() - 1)


def test_binary_blocks_are_powers_of_two_and_the_largest_comes_first():
    assert gloo.binary_blocks(22) == [(0, 16), (16, 4), (20, 2)]


@given(st.integers(2, 130))
def test_halving_doubling_of_any_number_reaches_all(ranks):
    table = find("gloo-halving-doubling").table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    # Parts come and go over the same edges.
    between = table.bytes_between()
    np.testing.assert_allclose(between, between.T)
    blocks = gloo.binary_blocks(ranks)
    within = sum(2 * (size - 1) * SIZE_BYTES for _, size in blocks)
    # Every smaller block hands a whole buffer up, and gets one.
    across = 2 * (len(blocks) - 1) * SIZE_BYTES
    assert between.sum() == pytest.approx(within + across)
    assert len(table.rounds) == 2 * (blocks[0][1].bit_length() - 1)


def test_a_smaller_block_meets_the_next_larger_one_alone():
    between = find("gloo-halving-doubling").table(7, 1 << 12).bytes_between()
    # Blocks 0-3, 4-5 and 6.
    assert np.flatnonzero(between[6]).tolist() == [4, 5]
    assert between[6, 4] == between[6, 5] == 1 << 11
    assert np.flatnonzero(between[4]).tolist() == [0, 2, 5, 6]
    assert between[4, 0] == between[4, 2] == 1 << 10


@pytest.mark.parametrize(
    ("ranks", "groups"), [(12, [2, 2, 3]), (7, [7]), (16, [2, 2, 2, 2]), (2, [2]), (10, [2, 5])]
)
def test_new_bcube_halves_while_it_can_and_the_rest_is_one_group(ranks, groups):
    assert gloo.bcube_groups(ranks) == groups


@given(st.integers(2, 100))
def test_new_bcube_moves_the_least_for_any_number(ranks):
    table = find("gloo-bcube-new").table(ranks, SIZE_BYTES)
    check_flows(table)
    assert heard(table).all()
    np.testing.assert_allclose(sent_bytes(table), 2 * (ranks - 1) * SIZE_BYTES / ranks)
    np.testing.assert_allclose(received_bytes(table), sent_bytes(table))
    assert most_sends_at_once(table) == max(gloo.bcube_groups(ranks)) - 1


@given(st.integers(2, 100), st.integers(2, 8))
def test_legacy_bcube_moves_the_least_where_it_sums_rightly(ranks, base):
    algorithm = find(f"gloo-bcube:{base}")
    fits = {c * base**x for c in range(1, base) for x in range(8)}
    assert (algorithm.refusal(ranks) is None) == (ranks in fits)
    if ranks in fits:
        table = algorithm.table(ranks, SIZE_BYTES)
        check_flows(table)
        assert heard(table).all()
        np.testing.assert_allclose(sent_bytes(table), 2 * (ranks - 1) * SIZE_BYTES / ranks)
        assert most_sends_at_once(table) <= base - 1


def test_legacy_bcube_groups_are_of_the_base_and_then_of_what_is_left():
    assert split_into_groups(12, 4) == [4, 3]
    assert split_into_groups(3, 4) == [3]
    assert split_into_groups(16, 4) == [4, 4]


def test_legacy_bcube_says_what_it_needs():
    assert find("gloo-bcube:4").refusal(6) == (
        "gloo-bcube:4 sums wrongly unless ranks are c x 4^x with c < 4, not 6"
    )
    with pytest.raises(ValueError, match="at least 2 ranks, not 1"):
        find("gloo-bcube:1")
