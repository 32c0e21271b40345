"""The rounds, and what is kept of them when something ends them early."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import pytest

from plink.base.errors import PlinkError
from plink.bench.clients.base import ClientFacts
from plink.bench.orders import NamedOrder
from plink.bench.run import run_rounds
from probes.errors import HostError

ORDERS = [NamedOrder("given", (0, 1)), NamedOrder("other", (1, 0))]


class FailingClient:
    """Measures two repetitions a launch, until a launch that fails."""

    def __init__(self, good_launches: int, failure: BaseException | None) -> None:
        self.good_launches = good_launches
        self.failure = failure

    def start(self) -> ClientFacts:
        return ClientFacts({}, {})

    def measure(self, order: Sequence[int]) -> list[float]:
        self.good_launches -= 1
        if self.good_launches < 0:
            if self.failure is None:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                raise self.failure
        return [0.5, 0.25]

    def close(self) -> None:
        pass


FAILURES = [HostError("n1", "died", "look"), PlinkError("n1: died", "look"), None]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize(("good_launches", "rounds_done"), [(1, 0), (2, 1), (5, 2)])
def test_what_was_measured_before_a_failure_is_kept(
    failure: Exception | None, good_launches: int, rounds_done: int
) -> None:
    outcome = run_rounds(FailingClient(good_launches, failure), ORDERS, rounds=3, seed=1)
    assert outcome.rounds_done == rounds_done
    assert sum(map(len, outcome.samples_s)) == 2 * good_launches
    assert str(outcome.stopped) == ("interrupted" if failure is None else "n1: died")
    assert outcome.stopped is not None
    assert outcome.stopped.hint == (None if failure is None else "look")


@pytest.mark.parametrize("failure", FAILURES)
def test_nothing_measured_is_no_outcome(failure: Exception | None) -> None:
    with pytest.raises(type(failure) if failure else KeyboardInterrupt):
        run_rounds(FailingClient(0, failure), ORDERS, rounds=3, seed=1)


def test_all_rounds() -> None:
    outcome = run_rounds(FailingClient(99, None), ORDERS, rounds=3, seed=1)
    assert (outcome.rounds_done, outcome.stopped) == (3, None)
    assert [len(samples) for samples in outcome.samples_s] == [6, 6]
