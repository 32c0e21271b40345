"""The rounds, and what is kept of them when something ends them early."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import PlinkError
from plink.bench.rounds import run_rounds, sequence
from plink.probes.errors import HostError


def failing(good_launches: int, failure: BaseException | None) -> Callable[[int], int]:
    """Launches whose result is their case, until one that fails."""
    left = iter(range(good_launches))

    def launch(case: int) -> int:
        if next(left, None) is None:
            if failure is not None:
                raise failure
            os.kill(os.getpid(), signal.SIGINT)
        return case

    return launch


FAILURES = [HostError("n1", "died", "look"), PlinkError("n1: died", "look"), None]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(("good_launches", "rounds_done"), [(1, 0), (2, 1), (5, 2)])
def test_what_was_measured_before_a_failure_is_kept(
    failure: Exception | None, good_launches: int, rounds_done: int
) -> None:
    done = run_rounds(2, failing(good_launches, failure), rounds=3, seed=1)
    assert done.rounds_done == rounds_done
    assert sum(map(len, done.results)) == good_launches
    assert all(set(results) <= {case} for case, results in enumerate(done.results))
    assert str(done.stopped) == ("interrupted" if failure is None else "n1: died")
    assert done.stopped is not None
    assert done.stopped.hint == (None if failure is None else "look")


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_before_anything_was_measured_is_raised(failure: Exception | None) -> None:
    with pytest.raises(type(failure) if failure else KeyboardInterrupt):
        run_rounds(2, failing(0, failure), rounds=3, seed=1)


def test_all_rounds() -> None:
    ended: list[int] = []
    done = run_rounds(2, failing(99, None), 3, 1, lambda: ended.append(0))
    assert (done.rounds_done, done.stopped, len(ended)) == (3, None, 6)
    assert done.results == [[0, 0, 0], [1, 1, 1]]


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**63 - 1))
def test_every_case_once_a_round_and_rounds_in_turn(count: int, rounds: int, seed: int) -> None:
    cases = list(sequence(count, rounds, seed))
    assert len(cases) == count * rounds
    for begin in range(0, len(cases), count):
        assert sorted(cases[begin : begin + count]) == list(range(count))
    assert cases == list(sequence(count, rounds, seed))


def test_rounds_are_shuffled_apart() -> None:
    cases = list(sequence(8, 6, seed=1))
    assert len({tuple(cases[begin : begin + 8]) for begin in range(0, 48, 8)}) > 1
