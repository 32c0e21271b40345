"""Which groups are measured at the same time."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.uplinks.plan import ExchangeTurn, plan_turns

SIZES = st.lists(st.integers(1, 20), min_size=2, max_size=20)


def ways(count: int) -> list[tuple[int, bool]]:
    return [(group, sends) for group in range(count) for sends in (True, False)]


@given(SIZES, st.data())
def test_every_group_has_its_turn_and_partners(sizes: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(ways(len(sizes))), unique=True))
    turns = plan_turns(sizes, wanted)
    assert Counter((g, turn.sends) for turn in turns for g in turn.groups) == Counter(wanted)
    for turn in turns:
        hosts = sum(sizes[group] for group in turn.groups)
        assert len(turn.groups) == 1 or 2 * hosts <= sum(sizes)
        # The others' uplinks have room where all carry as much.
        assert len(turn.groups) <= max(1, 0.8 * (len(sizes) - len(turn.groups)))


@given(SIZES)
def test_what_is_shared_beyond_uplinks_shows(sizes: list[int]) -> None:
    """No two share both turns, and one has company in one direction only."""
    turns = plan_turns(sizes, ways(len(sizes)))
    pairs = Counter(pair for turn in turns for pair in combinations(sorted(turn.groups), 2))
    assert max(pairs.values(), default=1) == 1
    if pairs:
        company = Counter(g for turn in turns for g in turn.groups if len(turn.groups) > 1)
        assert 1 in company.values()


@pytest.mark.parametrize(
    ("sizes", "count"),
    [([5, 4, 3, 2, 6], 6), ([4] * 4, 8), ([4] * 6, 7), ([4] * 8, 7), ([8] * 16, 11), ([9, 1], 4)],
)
def test_the_number_of_turns(sizes: list[int], count: int) -> None:
    assert len(plan_turns(sizes, ways(len(sizes)))) <= count


def test_groups_of_which_one_direction_is_known_are_alone() -> None:
    assert plan_turns([4] * 8, [(0, True), (3, False)]) == [
        ExchangeTurn((0,), True),
        ExchangeTurn((3,), False),
    ]
