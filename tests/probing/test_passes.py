"""Which pairs meet again: the decisions, without hosts, on readings whose truth is known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.probing.collectors import PassReadings
from plink.measure.probing.passes import Pair, Passes, arrange_rounds
from plink.probes.options import RttOptions
from plink.probes.samples import Rounds, Wanted
from support.pairs import all_pairs

SIZE = 8
PAIRS = [(i, j) for i in range(SIZE) for j in range(i + 1, SIZE)]
DEFAULT = RttOptions(passes=5, precision_percent=2.0)


class Network:
    """Hosts that are `true_us` apart; `late` pairs take longer by the factors of their passes."""

    def __init__(self, late: dict[Pair, list[float]] | None = None) -> None:
        self.passes = np.zeros((SIZE, SIZE), dtype=np.int64)
        self.halves_us = np.full((2, SIZE, SIZE), np.nan)
        self.late = late or {}
        self.met: Counter[Pair] = Counter()
        self.silent: set[int] = set()

    def seen(self) -> PassReadings:
        odd, even = self.halves_us
        return PassReadings(self.passes.copy(), (odd.copy(), even.copy()))

    def measure(self, wanted: Wanted) -> None:
        for i, j in sorted(wanted):
            self.met[min(i, j), max(i, j)] += i < j
            if self.silent & {i, j}:
                continue
            number = self.passes[i, j]
            factors = self.late.get((i, j), [])
            time_us = 20.0 * (factors[number] if number < len(factors) else 1.0)
            half_us = self.halves_us[number % 2]
            half_us[i, j] = np.fmin(half_us[i, j], time_us)
            self.passes[i, j] += 1

    def follow(
        self, options: RttOptions, first: Wanted, hinges: tuple[Pair, ...] = ()
    ) -> list[Rounds]:
        """What is met after the first pass, until that is enough."""
        passes = Passes(self.seen(), PAIRS, first, options, 0)
        self.measure(first)
        found = []
        is_over = passes.is_over(self.seen())
        while rounds := passes.next(self.seen(), hinges):
            assert not is_over
            found.append(rounds)
            self.measure(directions(rounds))
            is_over = passes.is_over(self.seen())
            assert len(found) < 100
        return found


def directions(rounds: Rounds) -> Wanted:
    return frozenset(way for met in rounds for pair in met for way in (pair, pair[::-1]))


@pytest.mark.parametrize(("most", "is_over"), [(1, True), (2, False)])
def test_a_single_pass_is_over_whatever_hinges_on_it(most: int, is_over: bool) -> None:
    network, wanted = Network(), all_pairs(SIZE)
    passes = Passes(network.seen(), PAIRS, wanted, RttOptions(passes=most), 0)
    network.measure(wanted)
    assert passes.is_over(network.seen()) == is_over
    assert bool(passes.next(network.seen(), PAIRS)) != is_over


def test_pairs_whose_passes_agree_meet_twice() -> None:
    network = Network()
    (second,) = network.follow(DEFAULT, all_pairs(SIZE))
    assert directions(second) == all_pairs(SIZE)
    assert set(network.met.values()) == {2}


def test_those_that_disagree_meet_until_they_agree() -> None:
    late = {(0, 1): [1.3, 1.0], (2, 5): [1.2, 1.1, 1.05], (3, 4): [1.01]}
    network = Network(late)
    assert len(network.follow(DEFAULT, all_pairs(SIZE))) == 4
    # The third reads what the second did; the readings of (2, 5) agree with its fifth.
    assert network.met[0, 1] == 3
    assert network.met[2, 5] == 5
    assert {network.met[pair] for pair in PAIRS if pair not in ((0, 1), (2, 5))} == {2}


def test_the_most_disagreeing_are_met_first_within_the_budget() -> None:
    late = {pair: [1.0, 1.1 + 0.01 * number] * 5 for number, pair in enumerate(PAIRS)}
    network = Network({**late, **{pair[::-1]: late[pair] for pair in PAIRS}})
    third = network.follow(DEFAULT, all_pairs(SIZE))[1]
    assert sum(network.met.values()) <= 3 * len(PAIRS)
    assert len(directions(third)) // 2 == len(PAIRS)
    few = RttOptions(passes=3, precision_percent=2.0)
    network = Network({**late, **{pair[::-1]: late[pair] for pair in PAIRS}})
    _, third = network.follow(few, all_pairs(SIZE))
    assert {pair for met in third for pair in met} == set(PAIRS[-(len(PAIRS) // 3) :])


@pytest.mark.parametrize("most", [1, 2, 3, 7])
def test_no_pair_meets_more_often_than_asked(most: int) -> None:
    late = {pair: [1.5, 1.0] * 10 for pair in all_pairs(SIZE)}
    network = Network(late)
    network.follow(RttOptions(passes=most, precision_percent=0.0), all_pairs(SIZE))
    assert set(network.met.values()) == {most}


def test_directions_that_differ_are_met_again() -> None:
    network = Network({(0, 1): [1.2, 1.2]})
    network.follow(DEFAULT, all_pairs(SIZE))
    # The third pass finds the truth, and the fourth confirms it.
    assert network.met[0, 1] == 4


def test_what_an_answer_hinges_on_is_met_again() -> None:
    network = Network()
    network.follow(DEFAULT, all_pairs(SIZE), hinges=((1, 6),))
    assert network.met[1, 6] == 5
    assert sum(network.met.values()) == 2 * len(PAIRS) + 3


def test_hinges_may_be_pairs_that_never_met() -> None:
    network = Network()
    passes = Passes(network.seen(), [(0, 1)], frozenset({(0, 1), (1, 0)}), DEFAULT, 0)
    network.measure(frozenset({(0, 1), (1, 0)}))
    assert directions(passes.next(network.seen(), [(4, 6)])) == {(0, 1), (1, 0), (4, 6), (6, 4)}


def test_a_settled_answer_leaves_disagreement_alone() -> None:
    network = Network({pair: [1.5] for pair in PAIRS})
    passes = Passes(network.seen(), PAIRS, all_pairs(SIZE), DEFAULT, 0)
    network.measure(all_pairs(SIZE))
    network.measure(directions(passes.next(network.seen(), is_settled=True)))
    assert passes.next(network.seen(), PAIRS, is_settled=True) == []


def test_a_silent_host_is_tried_no_more_and_a_lost_pair_once() -> None:
    network = Network()
    network.silent = {3}
    network.follow(DEFAULT, all_pairs(SIZE))
    assert {network.met[pair] for pair in PAIRS if 3 in pair} == {1}
    network = Network()
    passes = Passes(network.seen(), PAIRS, all_pairs(SIZE), DEFAULT, 0)
    network.measure(all_pairs(SIZE) - {(2, 7)})
    again = passes.next(network.seen())
    assert (2, 7) in directions(again)
    network.measure(directions(again))
    # Its first reading is one pass only.
    assert directions(passes.next(network.seen())) == {(2, 7), (7, 2)}


def test_a_complete_file_needs_nothing_and_gets_more_where_that_is_asked_for() -> None:
    network = Network({(0, 1): [1.0] * 3 + [0.9]})
    network.follow(DEFAULT, all_pairs(SIZE))
    assert network.follow(DEFAULT, frozenset()) == []
    network.follow(RttOptions(passes=8, extra_passes=3), frozenset())
    assert set(network.met.values()) == {5}
    # Now the passes of one pair disagree.
    network.met.clear()
    network.follow(DEFAULT, frozenset())
    assert set(network.met) == {(0, 1)}
    assert 1 <= network.met[0, 1] <= 3


@given(st.integers(2, 40), st.data())
def test_rounds_hold_every_pair_once_and_no_host_twice(hosts: int, data: st.DataObject) -> None:
    in_all = [(i, j) for i in range(hosts) for j in range(i + 1, hosts)]
    pairs = data.draw(st.lists(st.sampled_from(in_all), unique=True))
    seed = data.draw(st.integers(0, 1 << 63))
    rounds = arrange_rounds(hosts, pairs, (seed, 2))
    assert sorted(pair for met in rounds for pair in met) == sorted(pairs)
    assert all(met for met in rounds)
    for met in rounds:
        ends = [end for pair in met for end in pair]
        assert len(set(ends)) == len(ends)
    assert len(rounds) <= hosts - 1 + hosts % 2


def test_neighbours_in_time_are_others_in_each_pass() -> None:
    hosts = 16
    pairs = [(i, j) for i in range(hosts) for j in range(i + 1, hosts)]

    def together(number: int) -> set[frozenset[Pair]]:
        rounds = arrange_rounds(hosts, pairs, (0, number))
        return {frozenset((a, b)) for met in rounds for a in met for b in met if a < b}

    second, third = together(2), together(3)
    # By chance one in 13 of the pairs that a pair may share a round with.
    assert len(second & third) < 0.2 * len(second)


def test_a_pair_of_which_one_direction_is_missing_meets_as_often_as_others() -> None:
    network = Network()
    network.measure(all_pairs(SIZE) - {(2, 5)})
    network.met.clear()
    passes = network.follow(RttOptions(passes=3), frozenset({(2, 5)}))
    assert set(network.passes[~np.eye(SIZE, dtype=bool)]) == {2}
    assert len(passes) == 1
    network.silent = {5}
    network.passes[:, 5] = network.passes[5, :] = 0
    network.met.clear()
    first = frozenset((5, other) for other in range(SIZE) if other != 5)
    assert network.follow(DEFAULT, first) == []
