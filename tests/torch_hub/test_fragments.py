"""When fragments are sent and taken in, and which layers they have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.torch.hub.fragments import Schedule, deal_layers


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    sync_every = draw(st.integers(1, 40))
    return Schedule(
        sync_every, draw(st.integers(1, sync_every)), draw(st.integers(0, sync_every - 1))
    )


@given(schedules(), st.integers(0, 200))
def test_every_fragment_is_sent_once_in_so_many_steps_and_taken_in_before_it_is_sent_again(
    schedule: Schedule, begin: int
) -> None:
    steps = range(begin + 1, begin + 1 + schedule.sync_every)
    sent = [number for step in steps if (number := schedule.sent(step)) is not None]
    assert sent == list(range(sent[0], sent[0] + schedule.fragments))
    for number in sent:
        assert schedule.sent(schedule.time(number)) == number
        assert schedule.taken(schedule.time(number) + schedule.overlap_steps) == number
        again = schedule.time(number + schedule.fragments)
        assert again == schedule.time(number) + schedule.sync_every
        assert schedule.time(number) + schedule.overlap_steps < again


@given(schedules(), st.integers(0, 50))
def test_sendings_are_as_far_apart_as_they_can_be(schedule: Schedule, number: int) -> None:
    gap = schedule.time(number + 1) - schedule.time(number)
    even = schedule.sync_every / schedule.fragments
    assert even - 1 < gap < even + 1


def test_one_fragment_is_diloco() -> None:
    schedule = Schedule(5)
    assert [step for step in range(21) if schedule.sent(step) is not None] == [5, 10, 15, 20]
    assert [schedule.sent(step) for step in (5, 10, 15)] == [0, 1, 2]


@given(schedules(), st.data())
def test_who_joins_sends_first_what_it_is_to_contribute_first(
    schedule: Schedule, data: st.DataObject
) -> None:
    exchange = data.draw(st.integers(0, 60))
    # Where the others are, who have sent all exchanges before this one.
    rounds = [
        -(-(exchange - fragment) // schedule.fragments) if exchange > fragment else 0
        for fragment in range(schedule.fragments)
    ]
    assert schedule.is_possible(rounds)
    begin = schedule.begin(rounds)
    sent = (schedule.sent(step) for step in range(begin + 1, begin + 2 + schedule.sync_every))
    assert next(number for number in sent if number is not None) == exchange


def test_rounds_with_a_gap_cannot_be_joined() -> None:
    schedule = Schedule(6, 3)
    assert schedule.is_possible([5, 4, 4])
    assert not schedule.is_possible([5, 6, 5])
    assert not schedule.is_possible([6, 4, 4])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0,), "sync_every is 0"),
        ((5, 6), "6 fragments, expected 1 to 5"),
        ((5, 0), "0 fragments"),
        ((5, 1, 5), "overlap_steps is 5, expected 0 to 4"),
    ],
)
def test_what_cannot_be(arguments: tuple[int, ...], said: str) -> None:
    with pytest.raises(WrongUseError, match=said):
        Schedule(*arguments)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=40), st.data())
def test_layers_are_dealt_once_and_evenly(sizes: list[int], data: st.DataObject) -> None:
    fragments = data.draw(st.integers(1, len(sizes)))
    parts = deal_layers(sizes, fragments)
    assert sorted(layer for part in parts for layer in part) == list(range(len(sizes)))
    assert all(parts)
    # Graham's bound of list scheduling, which holds but for what fills the last empty fragments.
    most = max(sum(sizes[layer] for layer in part) for part in parts)
    assert most <= sum(sizes) / fragments + max(sizes)


def test_equal_layers_fall_in_turn() -> None:
    assert deal_layers([7] * 6, 3) == [[0, 3], [1, 4], [2, 5]]


def test_more_fragments_than_layers() -> None:
    with pytest.raises(WrongUseError, match="3 fragments of a model with 2 layers"):
        deal_layers([1, 1], 3)
