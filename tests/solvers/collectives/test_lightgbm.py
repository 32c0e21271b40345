"""LightGBM's reduce-scatters and allgathers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collective_replay import (
    check_flows,
    check_reduce_scatter,
    heard,
    most_sends_at_once,
    sent_bytes,
)
from plink.solvers.collectives import lightgbm
from plink.solvers.collectives.form import RingForm
from plink.solvers.collectives.registry import ALGORITHMS, find

SIZE_BYTES = 1 << 20
NAMES = [name for name in ALGORITHMS if name.startswith("lightgbm-")]


@pytest.mark.parametrize("name", NAMES)
@given(ranks=st.integers(2, 80))
def test_all_hear_of_all_where_the_library_takes_it(name, ranks):
    algorithm = find(name)
    if algorithm.refusal(ranks) is None:
        table = algorithm.table(ranks, SIZE_BYTES)
        check_flows(table)
        assert heard(table).all()
        assert most_sends_at_once(table) == 1


@given(st.integers(2, 200))
def test_every_number_of_ranks_has_an_algorithm_for_either_size(ranks):
    taken = {name for name in NAMES if find(name).refusal(ranks) is None}
    is_power = ranks & (ranks - 1) == 0
    expected = {"lightgbm-recursive-halving"} if is_power else {"lightgbm-bruck"}
    if is_power and ranks < 64:
        expected.add("lightgbm-recursive-halving-ring")
    if not is_power:
        expected.add("lightgbm-ring" if ranks < 64 else "lightgbm-ring-bruck")
    assert taken == expected


def test_refusals_are_sentences():
    assert find("lightgbm-ring").refusal(8) == (
        "lightgbm-ring needs a number of ranks that is not a power of two, not 8"
    )
    assert find("lightgbm-ring-bruck").refusal(12) == (
        "lightgbm-ring-bruck needs 64 or more ranks, not 12"
    )


def test_halving_of_a_power_of_two_begins_at_the_farthest_with_the_most():
    between = find("lightgbm-recursive-halving").table(8, SIZE_BYTES).bytes_between()
    # Half of it and, gathered back, half of it again.
    assert between[0, 4] == SIZE_BYTES
    assert between[0, 2] == SIZE_BYTES / 2
    assert between[0, 1] == SIZE_BYTES / 4
    table = find("lightgbm-recursive-halving").table(8, SIZE_BYTES)
    assert table.rounds[0].destinations.tolist() == [4, 5, 6, 7, 0, 1, 2, 3]


@given(st.integers(2, 70))
def test_halving_leaves_every_rank_its_block(ranks):
    check_reduce_scatter(ranks, lightgbm.recursive_halving(ranks, float(ranks)))


def test_bruck_goes_backwards_by_powers_of_two():
    rounds = lightgbm.bruck(6, 600.0)
    assert [int(step.destinations[0]) for step in rounds] == [5, 4, 2]
    assert [float(step.sizes_bytes[0]) for step in rounds] == [100.0, 200.0, 200.0]


def test_forms_are_rings_only_where_both_halves_are():
    assert find("lightgbm-ring").form(12) == RingForm(12)
    form = find("lightgbm-recursive-halving-ring").form(8)
    assert [step.weight for step in form.rounds] == [1.0, 1.0, 1.0, 7.0]
    weights = [step.weight for step in find("lightgbm-recursive-halving").form(8).rounds]
    assert weights == [2.0, 2.0, 2.0]


def test_sums_of_bytes_are_the_known_ones():
    sent = sent_bytes(find("lightgbm-recursive-halving").table(16, SIZE_BYTES))
    np.testing.assert_allclose(sent, 2 * 15 / 16 * SIZE_BYTES)
    np.testing.assert_allclose(
        sent_bytes(find("lightgbm-ring").table(12, SIZE_BYTES)), 2 * 11 / 12 * SIZE_BYTES
    )
    gathered = sum(step.sizes_bytes for step in lightgbm.bruck(12, float(SIZE_BYTES)))
    np.testing.assert_allclose(gathered, 11 / 12 * SIZE_BYTES)
