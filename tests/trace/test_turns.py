"""The order in which routes are traced."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from plink.probes.rounds import round_robin
from plink.probes.trace.tool import PairTurns
from support.pairs import all_pairs


@given(st.integers(2, 9), st.integers(1, 20), st.randoms())
def test_every_wanted_direction_once_and_no_source_twice(
    hosts: int, most: int, random: Random
) -> None:
    wanted = frozenset(pair for pair in all_pairs(hosts) if random.random() < 0.7)
    turns = PairTurns(wanted, round_robin(hosts), most)
    late = list(range(hosts))
    random.shuffle(late)
    begun: list[tuple[int, int]] = []
    while late or turns.running:
        if late and (random.random() < 0.3 or not turns.running):
            turns.admit(late.pop())
        begun += turns.next()
        assert len(turns.running) <= most
        sources = [source for source, _ in turns.running]
        assert len(set(sources)) == len(sources)
        if turns.running:
            pair = random.choice(sorted(turns.running))
            assert turns.over(*pair)
            assert not turns.over(*pair)
            begun += turns.next()
    assert sorted(begun) == sorted(wanted)


def test_a_lost_source_loses_what_it_had_to_trace() -> None:
    turns = PairTurns(all_pairs(3), round_robin(3), 9)
    for source in range(3):
        turns.admit(source)
    assert len(turns.next()) == 3
    assert sorted(turns.lose(1)) == [(1, 0), (1, 2)]
    assert not any(source == 1 for source, _ in turns.running)
    assert any(destination == 1 for _, destination in [*turns.running, *_rest(turns)])


def _rest(turns: PairTurns) -> list[tuple[int, int]]:
    rest = []
    while turns.running:
        pair = min(turns.running)
        turns.over(*pair)
        rest.append(pair)
        turns.next()
    return rest


def test_a_host_that_never_starts_holds_up_nobody() -> None:
    turns = PairTurns(all_pairs(4), round_robin(4), 9)
    for source in (0, 1, 2):
        turns.admit(source)
    turns.next()
    assert len(_rest(turns)) == 9
    assert len(list(turns.lose(3))) == 3
