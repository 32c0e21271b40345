"""How well groupings agree."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.solvers.groups.agreement import adjusted_rand, find_misplaced_hosts

LABELS = st.integers(2, 12).flatmap(
    lambda size: st.tuples(*(st.lists(st.integers(0, 4), min_size=size, max_size=size),) * 2)
)


@given(LABELS)
def test_the_index_is_that_of_its_definition(labels: tuple[list[int], list[int]]) -> None:
    first, second = (
        [one == other for one, other in itertools.combinations(each, 2)] for each in labels
    )
    both = sum(one and other for one, other in zip(first, second, strict=True))
    by_chance = sum(first) * sum(second) / len(first)
    most = (sum(first) + sum(second)) / 2
    expected = 1.0 if most == by_chance else (both - by_chance) / (most - by_chance)
    assert adjusted_rand(*labels) == pytest.approx(expected, abs=1e-12)


def test_the_fewest_hosts_are_out_of_place() -> None:
    found = ["x", "x", "x", "y", "y", "z"]
    true = ["a", "a", "b", "b", "b", "b"]
    # z stands for no true group: there are only two.
    assert find_misplaced_hosts(found, true) == {2: "a", 5: None}


@given(LABELS)
def test_groupings_that_agree_have_nobody_out_of_place(
    labels: tuple[list[int], list[int]],
) -> None:
    found, true = labels
    assert find_misplaced_hosts(found, found) == {}
    assert len(find_misplaced_hosts(found, true)) < len(found)
