"""Which rounds a run goes through, and what a file says of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import WrongUseError
from plink.formats.measurements import Measurement, RoundSample, find_sample
from plink.measure.probing.passes import advise_sampling, choose_sample, list_rounds
from plink.measure.probing.request import keep_sample
from plink.measure.probing.tools import ALL_ROUNDS
from plink.probes.rounds import sample_rounds

NAMES = [f"n{i:02}" for i in range(20)]


def pairs_of(present: list[str], sample: RoundSample | None) -> set[tuple[str, str]]:
    rounds = list_rounds(NAMES, present, sample)
    return {(present[i], present[j]) for pairs in rounds for i, j in pairs}


def test_all_rounds_are_a_tournament_of_those_present() -> None:
    assert choose_sample(20, None, 5) is None
    assert choose_sample(20, 19, 5) is None
    assert choose_sample(20, ALL_ROUNDS, 5) is None
    rounds = list_rounds(NAMES, NAMES[:7], None)
    assert len(rounds) == 7
    assert sum(map(len, rounds)) == 21


@given(st.sets(st.sampled_from(NAMES)), st.integers(2, 18), st.integers(0, 99))
def test_hosts_that_are_missing_change_no_pair_of_the_others(
    missing: set[str], rounds: int, seed: int
) -> None:
    sample = choose_sample(20, rounds, seed)
    assert sample is not None
    present = [name for name in NAMES if name not in missing]
    everything = pairs_of(NAMES, sample)
    assert pairs_of(present, sample) == {pair for pair in everything if missing.isdisjoint(pair)}
    assert all(i < j for pairs in list_rounds(NAMES, present, sample) for i, j in pairs)
    assert everything == {
        (NAMES[i], NAMES[j]) for pairs in sample_rounds(20, rounds, seed) for i, j in pairs
    }


def test_the_options_of_a_file_tell_the_sample() -> None:
    sample = RoundSample(rounds=32, in_all=999, seed=7)
    assert find_sample({"count": 300, **sample.to_options()}) == sample
    assert str(sample) == "32 of 999 rounds"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rounds": 32},
        {"rounds": "32", "rounds_in_all": 999, "seed": 7},
        {"rounds": 32, "rounds_in_all": 32, "seed": 7},
        {"rounds": True, "rounds_in_all": 999, "seed": 7},
        {"rounds": 0, "rounds_in_all": 999, "seed": 7},
        {"rounds": 32, "rounds_in_all": 999, "seed": -1},
        {"rounds": 32, "rounds_in_all": 999, "seed": 1 << 70},
    ],
)
def test_what_is_no_sample_counts_as_none(options: dict[str, Any]) -> None:
    assert find_sample(options) is None


def test_resuming_goes_on_with_the_sample_of_the_file() -> None:
    before = Measurement(tool="echo", options=RoundSample(4, 19, 7).to_options())
    assert keep_sample(before, None, None, "c") == (4, 7)
    assert keep_sample(before, 8, None, "c") == (8, 7)
    assert keep_sample(before, ALL_ROUNDS, 7, "c") == (ALL_ROUNDS, 7)
    with pytest.raises(WrongUseError, match="was measured with seed=7, not 8"):
        keep_sample(before, None, 8, "c")
    whole = Measurement(tool="echo")
    assert keep_sample(whole, 8, 3, "c") == (8, 3)
    assert keep_sample(whole, None, None, "c") == (None, None)


def test_many_hosts_are_told_of_the_rounds() -> None:
    (text,) = advise_sampling(1000, None, 32)
    assert text == (
        "all 999 rounds of 1,000 hosts are 999,000 directed pairs; "
        "automatic rounds measure at most 50,000 of them, those that show groups, "
        "and 32 rounds any 32,000"
    )
    assert advise_sampling(1000, choose_sample(1000, 32, 0), 32) == []
    assert advise_sampling(64, None, 32) == []
