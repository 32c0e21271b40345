"""Schedules say what peer tables and plans say, and end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.plans.forest import make_forest
from plink.plans.names import COLLECTIVES
from plink.simulate.making import schedule_of_table, schedule_of_traffic
from plink.simulate.schedule import (
    ANY,
    COMPUTE,
    RECEIVE,
    SEND,
    BrokenScheduleError,
    Schedule,
    check,
    messages_of,
    steps_of,
)
from plink.simulate.trace_algorithm import table_of, trace_algorithm
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS, find
from plink.solvers.forests.kinds import flat, two_level
from simulate.schedules import schedules

EVERY = {**ALGORITHMS, **OTHERS}


def made(*rows: tuple[int, int, int, int, int], edges: Sequence[tuple[int, int]] = ()) -> Schedule:
    """Of two ranks."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Schedule(2, *columns, *np.array(edges, dtype=np.int64).reshape(-1, 2).T)


@pytest.mark.parametrize("name", list(EVERY))
def test_every_byte_of_a_table_is_sent_and_received(name: str) -> None:
    algorithm = EVERY[name]
    for ranks in (2, 5, 8, 16):
        if algorithm.refusal(ranks) is not None:
            continue
        table = algorithm.table(ranks, 3_000_001)
        found = schedule_of_table(table)
        check(found)
        # Shares of a buffer become whole bytes, message by message.
        rounds = sum(len(step.sources) for step in table.rounds)
        difference = np.abs(found.bytes_between() - table.bytes_between())
        np.fill_diagonal(difference, 0.0)
        assert difference.max() <= 0.5 * rounds
        assert abs(difference).sum() <= 0.5 * rounds


def test_a_rank_waits_for_its_round_before() -> None:
    found = schedule_of_table(find("openmpi-recursive-doubling").table(8, 800))
    steps = steps_of(found, messages_of(found))
    assert sorted(set(steps[found.kind == SEND].tolist())) == [0, 1, 2]


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("kind", ["flat", "two-level"])
def test_a_plan_sends_what_its_trees_say(collective: str, kind: str) -> None:
    hosts = list(range(6))
    rates = np.ones(6)
    groups = [0, 0, 0, 1, 1, 1]
    routes = flat(rates) if kind == "flat" else two_level(groups, rates, [1.0, 1.0])
    forest = make_forest(*routes)
    size = 0 if collective == "barrier" else 6_000_000
    traffic = build_traffic(Demand(collective, size), forest)
    found = schedule_of_traffic(traffic, len(hosts))
    check(found)
    expected = traffic_bytes(traffic)
    assert np.allclose(found.bytes_between(), expected, atol=64.0, rtol=1e-4)


@given(schedules())
def test_any_that_ends_is_let_pass(schedule: Schedule) -> None:
    found = check(schedule)
    assert (schedule.amount[found.sends] == schedule.amount[found.receives]).all()
    assert (schedule.rank[found.receives] == schedule.peer[found.sends]).all()


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (made((SEND, 0, 1, 5, 0)), "1 sends and 0 receives"),
        (made((SEND, 0, 1, 5, 0), (RECEIVE, 1, 0, 6, 0)), "receives as another number"),
        (made((SEND, 0, 1, 5, 0), (RECEIVE, 1, 0, 5, 1)), "does not receive"),
        (
            made((COMPUTE, 0, ANY, 5, 0), (COMPUTE, 0, ANY, 5, 0), edges=[(0, 1), (1, 0)]),
            "2 operations wait for each other",
        ),
        (made((SEND, 0, 1, 5, 0), (RECEIVE, 1, ANY, 6, 0)), "that nobody sends"),
    ],
)
def test_what_does_not_end_is_refused(broken: Schedule, says: str) -> None:
    with pytest.raises(BrokenScheduleError, match=says):
        check(broken)


def test_two_that_wait_for_each_others_message_are_refused() -> None:
    rows = [(RECEIVE, 0, 1, 5, 0), (SEND, 0, 1, 5, 0), (RECEIVE, 1, 0, 5, 0), (SEND, 1, 0, 5, 0)]
    with pytest.raises(BrokenScheduleError, match="wait for each other"):
        check(made(*rows, edges=[(0, 1), (2, 3)]))


@given(schedules(), st.integers(0, 10))
def test_receives_of_any_sender_take_what_comes(schedule: Schedule, number: int) -> None:
    receives = np.flatnonzero(schedule.kind == RECEIVE)
    peer = schedule.peer.copy()
    if len(receives):
        only = receives[number % len(receives)]
        same = schedule.amount[receives] == schedule.amount[only]
        if same.sum() > 1:
            return  # which of them it takes is open
        peer[only] = ANY
    opened = Schedule(
        schedule.ranks,
        schedule.kind,
        schedule.rank,
        peer,
        schedule.amount,
        schedule.tag,
        schedule.before,
        schedule.after,
    )
    assert len(messages_of(opened).sends) == len(receives)


def test_a_trace_is_an_algorithm_of_bytes_by_step() -> None:
    table = find("openmpi-rabenseifner").table(8, 8_000_000)
    schedule = schedule_of_table(table)
    found = table_of(schedule)
    assert len(found.rounds) == len(table.rounds)
    assert np.array_equal(found.bytes_between(), schedule.bytes_between())
    algorithm = trace_algorithm(schedule)
    assert algorithm.refusal(8) is None
    assert algorithm.refusal(9) == "the trace has 8 ranks, not 9"
