"""Faults while pairs meet again: real agents on loopback, and what they report told apart."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from plink.probes.echo import coordinator
from plink.probes.reach import ReachedHost
from plink.probes.rounds import round_robin
from plink.probes.samples import Wanted
from support.jobs import echo_job
from support.local_hosts import ListSink, local_hosts
from support.pairs import all_pairs

SIZE = 4
ROUNDS = len(round_robin(SIZE))
FAULTY = 2
ALL = all_pairs(SIZE)
PACES = pytest.mark.parametrize("concurrency", [1, 1000], ids=["granted", "free"])


def disturbed_at_first(line: str) -> str:
    """What an agent says, with every scheduled meeting disturbed, and no further one."""
    verb, *words = line.split()
    if verb != "over":
        return line
    number, partner, elapsed, *_ = words
    wait = elapsed if int(number) < ROUNDS else "0"
    return f"over {number} {partner} {elapsed} 0 {wait}"


def lost_at_first(line: str) -> str:
    """What an agent says, with every scheduled pair lost, and no later one."""
    verb, number, partner, *_ = [*line.split(), "", ""]
    is_first = verb == "rtt" and int(number) < ROUNDS
    return f"lost {number} {partner} gave-up" if is_first else line


def agent_of(host: ReachedHost) -> Any:
    session: Any = host.session
    return session.agent()


def disturbed_hosts() -> list[ReachedHost]:
    hosts = local_hosts(SIZE)
    for host in hosts:
        session: Any = host.session
        session.rewrite_said = disturbed_at_first
    return hosts


def measure(
    hosts: list[ReachedHost],
    sink: ListSink,
    concurrency: int,
    *,
    wanted: Wanted = ALL,
    passes: int = 1,
) -> None:
    further = [round_robin(SIZE)[::-1]] * passes
    job = echo_job(
        hosts,
        concurrency,
        count=20,
        wanted=wanted,
        more=lambda: further.pop() if further else (),
    )
    coordinator.measure(job, sink)


def undisturbed(sink: ListSink) -> set[tuple[int, int]]:
    return {(r.source, r.destination) for r in sink.readings if r.disturbance == 0.0}


@PACES
def test_all_meet_again(concurrency: int) -> None:
    sink = ListSink()
    measure(disturbed_hosts(), sink, concurrency)
    assert undisturbed(sink) == sink.measured() == all_pairs(SIZE)
    assert not sink.pair_losses
    assert not sink.host_losses


@PACES
def test_every_further_pass_is_handed_on(concurrency: int) -> None:
    hosts, sink = local_hosts(SIZE), ListSink()
    heard: list[int] = []
    sink.on_reading = heard.append
    measure(hosts, sink, concurrency, passes=3)
    assert len(heard) == 4 * len(all_pairs(SIZE))


@PACES
@pytest.mark.parametrize("wanted", [frozenset(), frozenset({(2, 0)})])
def test_pairs_that_never_met_are_told_of_each_other(wanted: Wanted, concurrency: int) -> None:
    hosts, sink = local_hosts(SIZE), ListSink()
    measure(hosts, sink, concurrency, wanted=wanted)
    assert sink.measured() == all_pairs(SIZE)
    assert not sink.pair_losses
    assert not sink.host_losses


@PACES
def test_pairs_that_never_met_are_lost_with_a_host(concurrency: int) -> None:
    hosts, sink = local_hosts(SIZE), ListSink()
    sink.on_reading = lambda count: count == 1 and agent_of(hosts[FAULTY]).kill()
    wanted = frozenset({(0, 1), (1, 0)})
    measure(hosts, sink, concurrency, wanted=wanted)
    assert sink.measured() == {pair for pair in all_pairs(SIZE) if FAULTY not in pair}
    assert sink.lost() == {pair for pair in all_pairs(SIZE) if FAULTY in pair}
    assert len(sink.pair_losses) == len(sink.lost())


@PACES
def test_a_pair_that_was_lost_is_read_later(concurrency: int) -> None:
    hosts, sink = local_hosts(SIZE), ListSink()
    session: Any = hosts[FAULTY].session
    session.rewrite_said = lost_at_first
    measure(hosts, sink, concurrency)
    assert sink.lost() == {(FAULTY, other) for other in range(SIZE) if other != FAULTY}
    assert sink.measured() == all_pairs(SIZE)


@PACES
def test_a_host_that_dies_meanwhile_keeps_its_readings(concurrency: int) -> None:
    hosts, sink = disturbed_hosts(), ListSink()
    session: Any = hosts[FAULTY].session

    def die(text: str) -> str:
        if text.startswith("again"):
            session.agent().kill()
        return text

    session.rewrite = die
    measure(hosts, sink, concurrency)
    assert sink.measured() == all_pairs(SIZE)
    assert undisturbed(sink) == {pair for pair in all_pairs(SIZE) if FAULTY not in pair}
    assert not sink.pair_losses
    assert [loss.host for loss in sink.host_losses] == [FAULTY]


@PACES
def test_a_host_that_does_not_come_is_given_up(
    concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "_ASK_EVERY_S", 0.3)
    monkeypatch.setattr(coordinator, "_REPORT_WITHIN_S", 1.0)
    hosts, sink = disturbed_hosts(), ListSink()
    session: Any = hosts[FAULTY].session
    session.rewrite = lambda text: "" if text.startswith("again") else text
    measure(hosts, sink, concurrency)
    assert sink.measured() == all_pairs(SIZE)
    assert [loss.host for loss in sink.host_losses] == [FAULTY]


@PACES
def test_an_interrupt_meanwhile_keeps_all_readings(concurrency: int) -> None:
    hosts, sink = disturbed_hosts(), ListSink()
    heard: list[int] = []

    def interrupt(count: int, heard: list[int]) -> None:
        heard.append(count)
        if len(heard) > len(all_pairs(SIZE)) + 2:
            raise KeyboardInterrupt

    sink.on_reading = functools.partial(interrupt, heard=heard)
    with pytest.raises(KeyboardInterrupt):
        measure(hosts, sink, concurrency)
    assert sink.measured() == all_pairs(SIZE)
    assert undisturbed(sink)
    for host in hosts:
        session: Any = host.session
        assert session.agent().poll() is not None
