"""The coordinator with real agents beside other work on their processors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from benchkit.other_work import BUSY, other_work
from plink.probes.echo import coordinator
from plink.probes.echo.readings import DISTURBED
from support.jobs import echo_job
from support.local_hosts import ListSink, local_hosts
from support.pairs import all_pairs

LONG = {"count": 400, "timeout_s": 2.0}


@pytest.fixture(autouse=True)
def two_processors() -> Iterator[None]:
    """This process and the agents that it starts have the first two processors only."""
    before = os.sched_getaffinity(0)
    if not {0, 1} <= before:
        pytest.skip("processors 0 and 1 are not for us")
    os.sched_setaffinity(0, {0, 1})
    yield
    os.sched_setaffinity(0, before)


def test_busy_loops_beside_the_agents_are_noticed() -> None:
    hosts, sink = local_hosts(5), ListSink()
    with other_work(BUSY, [0, 1]):
        coordinator.measure(echo_job(hosts, 1, **LONG), sink)
    shares = [reading.disturbance for reading in sink.readings]
    assert sink.measured() == all_pairs(5)
    assert sum(share is not None and share >= DISTURBED for share in shares) >= 10


def test_pairs_that_disturb_each_other_get_fewer() -> None:
    hosts, sink = local_hosts(14), ListSink()
    coordinator.measure(echo_job(hosts, 6, **LONG, adaptive=True), sink)
    assert sink.measured() == all_pairs(14)
    assert sink.remarks[0] == "3 pairs at a time from here on: 6 disturbed each other"


def test_a_number_that_was_asked_for_is_kept() -> None:
    hosts, sink = local_hosts(14), ListSink()
    coordinator.measure(echo_job(hosts, 6, **LONG), sink)
    assert sink.measured() == all_pairs(14)
    assert not sink.remarks


def test_it_works_where_the_kernel_does_not_tell() -> None:
    hosts, sink = local_hosts(4), ListSink()
    for host in hosts:
        session: Any = host.session
        session.rewrite_said = _without_wait
    coordinator.measure(echo_job(hosts, 1, **LONG), sink)
    assert sink.measured() == all_pairs(4)
    assert {reading.disturbance for reading in sink.readings} == {None}


def _without_wait(line: str) -> str:
    """What an agent says on a kernel without /proc/self/schedstat."""
    words = line.split()
    return " ".join([*words[:-1], "-"]) if words[0] == "over" else line
