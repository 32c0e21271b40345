"""The coordinator with real agents on loopback, and faults in the middle of a run."""

from __future__ import annotations

import functools
import re
import signal
import time
from typing import Any

import pytest

from plink.probes.echo import coordinator
from plink.probes.reach import ReachedHost
from plink.probes.remote import session as remote_session
from support.jobs import echo_job
from support.local_hosts import ListSink, local_hosts
from support.pairs import all_pairs

pytestmark = pytest.mark.timing

COUNT = 40
# More probes than an agent sends while a test runs.
ENDLESS = 1_000_000
FREE, ONE_AT_A_TIME = 1000, 1


def agent_of(host: ReachedHost) -> Any:
    session: Any = host.session
    return session.agent()


def make_endless(host: ReachedHost) -> None:
    """Let an agent probe its next partner without end, so that a disturbance finds it at work."""
    session: Any = host.session
    session.rewrite = functools.partial(re.sub, r"^(run \d+) \d+ ", rf"\1 {ENDLESS} ")


def ended(hosts: list[ReachedHost]) -> bool:
    return all(agent_of(host).poll() is not None for host in hosts)


@pytest.mark.parametrize("size", [2, 5, 8])
@pytest.mark.parametrize("concurrency", [FREE, 2, ONE_AT_A_TIME])
def test_every_direction_of_every_pair_is_measured(size: int, concurrency: int) -> None:
    hosts, sink = local_hosts(size), ListSink()
    coordinator.measure(echo_job(hosts, concurrency), sink)
    assert sink.measured() == all_pairs(size)
    assert len(sink.readings) == size * (size - 1)
    assert not sink.pair_losses
    assert not sink.host_losses
    for reading in sink.readings:
        assert 1 <= reading.received <= reading.sent == COUNT
        assert 0.5 < reading.rtt_us[10.0] <= reading.rtt_us[50.0] <= reading.rtt_us[99.0]
    assert ended(hosts)


@pytest.mark.parametrize("concurrency", [FREE, ONE_AT_A_TIME])
def test_only_the_wanted_directions_are_measured(concurrency: int) -> None:
    wanted = frozenset({(0, 1), (3, 1), (2, 4)})
    hosts, sink = local_hosts(5), ListSink()
    coordinator.measure(echo_job(hosts, concurrency, wanted=wanted), sink)
    assert sink.measured() == wanted
    assert len(sink.readings) == 3


@pytest.mark.parametrize("concurrency", [FREE, ONE_AT_A_TIME])
def test_a_killed_agent_costs_its_own_pairs_only(concurrency: int) -> None:
    hosts = local_hosts(6)
    if concurrency == FREE:
        make_endless(hosts[2])
    sink = ListSink(on_reading=lambda count: count == 4 and agent_of(hosts[2]).kill())
    coordinator.measure(echo_job(hosts, concurrency), sink)
    others = frozenset(pair for pair in all_pairs(6) if 2 not in pair)
    assert others <= sink.measured()
    assert sink.measured() | sink.lost() == all_pairs(6)
    assert [loss.host for loss in sink.host_losses] == [2]
    assert all(2 in pair for pair in sink.lost())
    assert sink.lost()
    assert ended(hosts)


@pytest.mark.parametrize("concurrency", [FREE, ONE_AT_A_TIME])
def test_an_agent_that_freezes_is_given_up(
    concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "_ASK_EVERY_S", 0.3)
    monkeypatch.setattr(coordinator, "_ANSWER_WITHIN_S", 1.5)
    # Nobody waits for the end of what was given up.
    monkeypatch.setattr(remote_session, "_EXIT_WITHIN_S", 1000.0)
    hosts = local_hosts(6)
    if concurrency == FREE:
        make_endless(hosts[2])
    freeze = signal.SIGSTOP
    sink = ListSink(on_reading=lambda n: n == 4 and agent_of(hosts[2]).send_signal(freeze))
    coordinator.measure(echo_job(hosts, concurrency), sink)
    others = frozenset(pair for pair in all_pairs(6) if 2 not in pair)
    assert others <= sink.measured()
    assert sink.measured() | sink.lost() == all_pairs(6)
    assert [loss.host for loss in sink.host_losses] == [2]


def test_a_host_whose_agent_cannot_bind_is_named() -> None:
    hosts, sink = local_hosts(4), ListSink()
    hosts[1] = ReachedHost(hosts[1].listed, hosts[1].session, hosts[1].facts, "192.0.2.1")
    coordinator.measure(echo_job(hosts, FREE), sink)
    assert [(loss.host, loss.reason) for loss in sink.host_losses] == [
        (1, "cannot open its UDP port: Cannot assign requested address")
    ]
    assert sink.measured() == {pair for pair in all_pairs(4) if 1 not in pair}


@pytest.mark.parametrize("concurrency", [FREE, ONE_AT_A_TIME])
def test_an_interrupt_ends_every_agent(concurrency: int) -> None:
    hosts = local_hosts(6)
    if concurrency == FREE:
        make_endless(hosts[2])

    def interrupt(count: int) -> None:
        if count == 5:
            raise KeyboardInterrupt

    sink = ListSink(on_reading=interrupt)
    with pytest.raises(KeyboardInterrupt):
        coordinator.measure(echo_job(hosts, concurrency), sink)
    assert 5 <= len(sink.readings) < len(all_pairs(6))
    assert ended(hosts)


def test_two_runs_at_the_same_time_do_not_meet() -> None:
    first, second = local_hosts(4), local_hosts(4)
    sink, inner = ListSink(), ListSink()

    def start_another(count: int) -> None:
        if count == 2:
            coordinator.measure(echo_job(second, FREE), inner)

    sink.on_reading = start_another
    coordinator.measure(echo_job(first, FREE), sink)
    assert sink.measured() == inner.measured() == all_pairs(4)
    assert not sink.host_losses


def block(hosts: list[ReachedHost], source: int, destination: int) -> None:
    """Packets from one host to another go nowhere."""
    session: Any = hosts[source].session
    address = hosts[destination].address
    session.rewrite = lambda text: re.sub(
        rf"^(peer {destination}) {re.escape(address)} \d+$", r"\1 127.0.9.9 9", text, flags=re.M
    )


@pytest.mark.parametrize("concurrency", [FREE, ONE_AT_A_TIME])
@pytest.mark.parametrize("blocked", [(0, 1), (1, 0), (2, 3)])
def test_one_blocked_direction_costs_one_pair(concurrency: int, blocked: tuple[int, int]) -> None:
    hosts, sink = local_hosts(4), ListSink()
    block(hosts, *blocked)
    coordinator.measure(echo_job(hosts, concurrency), sink)
    pair = {blocked, (blocked[1], blocked[0])}
    assert sink.lost() == pair
    assert sink.measured() == all_pairs(4) - pair
    assert not sink.host_losses


@pytest.mark.parametrize("wanted", [(0, 1), (1, 0)])
def test_a_blocked_pair_of_which_one_direction_is_wanted(wanted: tuple[int, int]) -> None:
    hosts, sink = local_hosts(4), ListSink()
    block(hosts, 0, 1)
    coordinator.measure(echo_job(hosts, ONE_AT_A_TIME, wanted=frozenset({wanted})), sink)
    assert sink.lost() == {wanted}


@pytest.mark.parametrize("concurrency", [FREE, ONE_AT_A_TIME])
def test_two_groups_that_cannot_reach_each_other_keep_their_own_pairs(concurrency: int) -> None:
    hosts, sink = local_hosts(6), ListSink()
    for index, host in enumerate(hosts):
        session: Any = host.session
        others = "|".join(str(other) for other in range(6) if other % 2 != index % 2)
        session.rewrite = functools.partial(
            re.sub, rf"^(peer (?:{others})) .*$", r"\1 127.0.9.9 9", flags=re.M
        )
    coordinator.measure(echo_job(hosts, concurrency, count=20, timeout_s=0.2), sink)
    assert not sink.host_losses
    assert sink.measured() == {(i, j) for i, j in all_pairs(6) if i % 2 == j % 2}


def test_a_host_silent_to_all_is_named() -> None:
    hosts, sink = local_hosts(8), ListSink()
    session: Any = hosts[5].session
    session.rewrite = functools.partial(re.sub, r"^(peer \d+) .*$", r"\1 127.0.9.9 9", flags=re.M)
    coordinator.measure(echo_job(hosts, ONE_AT_A_TIME), sink)
    assert [loss.host for loss in sink.host_losses] == [5]
    assert sink.measured() == {pair for pair in all_pairs(8) if 5 not in pair}


def test_a_late_schedule_is_waited_for() -> None:
    hosts, sink = local_hosts(4), ListSink()
    session: Any = hosts[2].session

    def late(text: str) -> str:
        if text.startswith("peer"):
            time.sleep(1.5)
        return text

    session.rewrite = late
    coordinator.measure(echo_job(hosts, FREE), sink)
    assert sink.measured() == all_pairs(4)


def test_a_coordinator_that_was_stopped_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_ASK_EVERY_S", 0.2)
    monkeypatch.setattr(coordinator, "_ANSWER_WITHIN_S", 1.5)
    hosts = local_hosts(6)
    sink = ListSink(on_reading=lambda count: time.sleep(3.5) if count == 3 else None)
    coordinator.measure(echo_job(hosts, ONE_AT_A_TIME), sink)
    assert sink.measured() == all_pairs(6)
    assert not sink.host_losses
