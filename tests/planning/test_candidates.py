"""Which plan is chosen, and what is said of it."""

from __future__ import annotations

import pytest

from plans.strategies import two_by_two
from plink.base.replacing import replace
from plink.optimize.plans.candidates import Candidate, choose_best, choose_requested
from plink.plans.measures import measure


def candidate(kind: str, time_s: float, cross_bytes: float = 0.0, rounds: int = 4) -> Candidate:
    measures = measure(two_by_two(), 1.0)
    return Candidate(
        kind, two_by_two(), time_s, replace(measures, cross_group_bytes=cross_bytes, rounds=rounds)
    )


def test_the_quickest_is_chosen():
    choice = choose_best(
        [candidate("ring", 1.5), candidate("2lha", 1.2, 9.0), candidate("flat", 4.0)]
    )
    assert choice.candidate.kind == "2lha"
    assert choice.reason == "2lha: predicted to take 1.20 s, ring, the next best, 1.25 times that"


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        (
            [candidate("ring", 1.0, 10.0), candidate("2lha", 1.009, 6.0), candidate("flat", 3.0)],
            "2lha: predicted to be as quick as ring, and to send the least between groups",
        ),
        (
            [candidate("ring", 1.0, 0.0, 30), candidate("flat", 1.005, 0.2, 2)],
            "flat: predicted to be as quick as ring, in the fewest rounds",
        ),
        (
            [
                candidate("ring", 1.0, 5.0, 30),
                candidate("flat", 1.0, 5.0, 2),
                candidate("tree", 1.0, 5.0, 2),
            ],
            "flat: predicted to be as quick as ring and tree",
        ),
        ([candidate("flat", 0.0)], "flat: the only kind that fits"),
        (
            [candidate("ring", 0.0), candidate("flat", 0.0, 0.0, 2)],
            "flat: predicted to be as quick as ring, in the fewest rounds",
        ),
    ],
)
def test_of_equals_the_thriftiest_is_chosen(candidates, said):
    assert choose_best(candidates).reason == said


def test_what_was_asked_for_is_taken_and_compared():
    candidates = [candidate("ring", 1.5), candidate("2lha", 1.2), candidate("flat", 4.0)]
    assert choose_requested("flat", candidates).candidate.kind == "flat"
    assert choose_requested("flat", candidates).reason == (
        "flat: as asked for, predicted to take 4.00 s; auto would have chosen 2lha, predicted to "
        "take 1.20 s"
    )
    assert choose_requested("2lha", candidates).reason == (
        "2lha: as asked for, and what auto would have chosen"
    )
