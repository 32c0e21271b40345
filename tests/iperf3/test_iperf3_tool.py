"""Measuring with iperf3 on loopback: real servers and clients, or ones that misbehave."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from plink.probes.iperf3 import tool as transfers
from plink.probes.iperf3.tool import measure
from plink.probes.options import Iperf3Options
from plink.probes.reach import ReachedHost
from plink.probes.samples import BandwidthReading, no_limit
from support.jobs import job_of
from support.local_hosts import ListSink
from support.local_shell import ShellSession, program, shell_hosts
from support.ports import reserved_port

pytestmark = [
    pytest.mark.needs("lab"),
    pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3"),
]

VERSION = 'case "$*" in *--version*) echo "iperf 3.12 (cJSON 1.7.15)"; exit;; esac\n'
SERVER = f'case "$*" in "-s "*) exec {shutil.which("iperf3")} "$@";; esac\n'
REPORT = (
    '{"intervals": [{"sum": {"start": 0.2, "end": 1, "bytes": 1e8}}],'
    ' "end": {"sum_sent": {"retransmits": 3}}}'
)


def run(
    hosts: list[ReachedHost], *, left_s: Callable[[], float] = no_limit, **options: Any
) -> ListSink:
    sink = ListSink()
    chosen = Iperf3Options(streams=2, **options)
    measure(job_of(chosen, hosts, 1, timeout_s=1.0, left_s=left_s), cast("Any", sink))
    return sink


def session(host: ReachedHost) -> ShellSession:
    return cast("ShellSession", host.session)


def readings(sink: ListSink) -> list[BandwidthReading]:
    return cast("list[BandwidthReading]", sink.readings)


def replace_iperf3(host: ReachedHost, folder: Path, script: str) -> None:
    session(host).path = [program(folder / host.name, "iperf3", VERSION + script)]


@pytest.fixture
def port() -> Iterator[int]:
    """Port that no other program takes during the test, at any address of this host."""
    with reserved_port("") as number:
        yield number


@pytest.mark.parametrize("direction", ["each", "both"])
def test_both_directions_are_measured(direction: str) -> None:
    sink = run(shell_hosts(2), direction=direction)
    assert sink.measured() == {(0, 1), (1, 0)}
    assert all(reading.gbit_s > 0.01 for reading in readings(sink))
    assert all(reading.retransmits is not None for reading in readings(sink))


def test_what_the_receiver_got_is_the_reading(tmp_path: Path) -> None:
    hosts = shell_hosts(2)
    for host in hosts:
        replace_iperf3(host, tmp_path, SERVER + f"echo '{REPORT}'")
    sink = run(hosts)
    assert {(r.gbit_s, r.retransmits) for r in readings(sink)} == {(1.0, 3)}


@pytest.mark.parametrize(("after_s", "measured"), [(0.5, {(0, 1)}), (0.0, set())])
def test_a_test_without_time_is_not_made_and_a_late_one_does_not_count(
    tmp_path: Path, port: int, after_s: float, measured: set[tuple[int, int]]
) -> None:
    hosts = shell_hosts(2)
    for host in hosts:
        replace_iperf3(host, tmp_path, SERVER + f"echo '{REPORT}'")
    # Before the server is started, before the test begins, after it, before the next one.
    left_s = iter([9.0, 9.0, after_s, after_s])
    sink = run(hosts, left_s=lambda: next(left_s), port=port)
    assert next(left_s, None) is None
    assert sink.measured() == measured
    assert sink.lost() == {(0, 1), (1, 0)} - measured
    assert {loss.reason for loss in sink.pair_losses} == {transfers.OUT_OF_TIME}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 127", "iperf3 is not installed there"),
        ('echo "iperf 3.0.11"', "it has iperf3 3.0: 3.1 or later is needed"),
        ('echo "iperf version 2.1.8"', "iperf3 is not installed there"),
    ],
)
def test_a_host_without_a_usable_iperf3_costs_its_own_pairs(
    tmp_path: Path, script: str, reason: str
) -> None:
    hosts = shell_hosts(3)
    session(hosts[1]).path = [program(tmp_path / "bin", "iperf3", script)]
    for host in (hosts[0], hosts[2]):
        replace_iperf3(host, tmp_path, SERVER + f"echo '{REPORT}'")
    sink = run(hosts)
    assert [(loss.host, loss.reason) for loss in sink.host_losses] == [(1, reason)]
    assert sink.measured() == {(0, 2), (2, 0)}
    assert sink.lost() == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert {loss.reason for loss in sink.pair_losses} == {f"h1: {reason}"}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo hello", "iperf3: said hello"),
        ("kill -9 $$", "iperf3: said"),
        ('echo \'{"error": "broken"}\'', "iperf3: broken"),
        ('echo \'{"error": "unable to connect: Connection timed out"}\'', "no data arrived"),
        ("exec sleep 30", "no data arrived"),
        ("yes | head -c 3000000", "h1: sent more output than the size limit allows"),
    ],
)
def test_a_client_that_misbehaves(tmp_path: Path, script: str, reason: str) -> None:
    hosts = shell_hosts(2)
    replace_iperf3(hosts[1], tmp_path, SERVER + script)
    replace_iperf3(hosts[0], tmp_path, SERVER + f"echo '{REPORT}'")
    sink = run(hosts)
    (loss,) = [loss for loss in sink.pair_losses if loss.source == 0]
    assert loss.reason.startswith(reason)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exec sleep 30", "the iperf3 server on h0 cannot be started (no output)"),
        (
            "echo 'iperf3: error - no' >&2; exit 1",
            "the iperf3 server on h0 cannot be started (iperf3: error - no)",
        ),
        ("exit 0", "the iperf3 server on h0 cannot be started (no output)"),
    ],
)
def test_a_server_that_misbehaves(tmp_path: Path, script: str, reason: str) -> None:
    hosts = shell_hosts(2)
    server = f'case "$*" in "-s "*) {script};; esac\n'
    replace_iperf3(hosts[0], tmp_path, server + f"echo '{REPORT}'")
    replace_iperf3(hosts[1], tmp_path, SERVER)
    sink = run(hosts)
    assert sink.measured() == {(1, 0)}
    assert [loss.reason for loss in sink.pair_losses] == [reason]


def fail_at_first(folder: Path, times: int) -> str:
    """A client that fails so many times in all, and adds a line to a file at each attempt."""
    attempts = folder / "attempts"
    return (
        f"echo >>{attempts}\n"
        f'[ "$(wc -l <{attempts})" -gt {times} ] || {{ echo \'{{"error": "broken"}}\'; exit; }}\n'
    )


@pytest.mark.parametrize(("failures", "lost", "attempts"), [(0, 0, 1), (1, 0, 2), (2, 1, 2)])
def test_a_failed_test_is_run_once_more(
    tmp_path: Path, failures: int, lost: int, attempts: int
) -> None:
    hosts = shell_hosts(2)
    client = fail_at_first(tmp_path, failures)
    replace_iperf3(hosts[1], tmp_path, SERVER + client + f"echo '{REPORT}'")
    replace_iperf3(hosts[0], tmp_path, SERVER + f"echo '{REPORT}'")
    sink = run(hosts)
    assert [loss.reason for loss in sink.pair_losses] == ["iperf3: broken"] * lost
    assert len(sink.readings) == 2 - lost
    assert len((tmp_path / "attempts").read_text()) == attempts


def test_a_failed_test_is_not_run_again_without_time(tmp_path: Path, port: int) -> None:
    hosts = shell_hosts(2)
    for host in hosts:
        replace_iperf3(host, tmp_path, SERVER + fail_at_first(tmp_path, 9))
    # Before the server is started, before the test begins, and for the second try.
    left_s = iter([9.0, 9.0, 0.5] * 2)
    sink = run(hosts, left_s=lambda: next(left_s), port=port)
    assert [loss.reason for loss in sink.pair_losses] == ["iperf3: broken"] * 2
    assert len((tmp_path / "attempts").read_text()) == 2


def test_what_listens_at_the_port_of_another_address_is_not_the_server(
    tmp_path: Path, port: int
) -> None:
    """It comes between the look at the port and the server's own attempt."""
    hosts = shell_hosts(2)
    mark, listeners = tmp_path / "mark", list[socket.socket]()

    def listen() -> None:
        while not mark.exists():
            time.sleep(0.01)
        listeners.append(socket.create_server(("127.0.0.9", port)))

    server = f'case "$*" in "-s "*) : >{mark}; exec sleep 1;; esac\n'
    replace_iperf3(hosts[0], tmp_path, server + f"echo '{REPORT}'")
    replace_iperf3(hosts[1], tmp_path, SERVER)
    other = threading.Thread(target=listen, daemon=True)
    other.start()
    sink = run(hosts, port=port, direction="each")
    other.join()
    listeners[0].close()
    assert {loss.reason for loss in sink.pair_losses if loss.source == 0} == {
        "the iperf3 server on h0 cannot be started (no output)"
    }


@pytest.mark.parametrize("how", ["", "timeout 60 "])
def test_a_script_that_starts_iperf3_is_a_server_too(tmp_path: Path, how: str) -> None:
    hosts = shell_hosts(2)
    script = SERVER.replace("exec ", how)
    for host in hosts:
        replace_iperf3(host, tmp_path, script + f"echo '{REPORT}'")
    assert run(hosts).measured() == {(0, 1), (1, 0)}


def test_a_taken_port_is_passed_over(tmp_path: Path) -> None:
    hosts = shell_hosts(2)
    for host in hosts:
        replace_iperf3(host, tmp_path, SERVER + f"echo '{REPORT}'")
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # somebody else may have taken it
            stack.enter_context(socket.create_server(("127.0.0.1", 5201)))
        assert len(run(hosts).measured()) == 2


def test_the_one_port_that_is_allowed_may_be_taken(tmp_path: Path, port: int) -> None:
    hosts = shell_hosts(2)
    for host in hosts:
        replace_iperf3(host, tmp_path, SERVER + f"echo '{REPORT}'")
    with socket.create_server(("127.0.1.2", port)):
        sink = run(hosts, port=port)
    assert {loss.reason for loss in sink.pair_losses} == {
        f"the port {port} of h0 is used by another program",
        f"the port {port} of h1 is used by another program",
    }
    assert len(run(hosts, port=port).measured()) == 2


def test_a_busy_server_is_passed_over(tmp_path: Path) -> None:
    """Somebody else's client was there first: another port, another server."""
    hosts = shell_hosts(2)
    once = tmp_path / "once"
    busy = (
        f'[ -e {once} ] || {{ touch {once}; echo \'{{"error": "the server is busy"}}\'; exit; }}\n'
    )
    for host in hosts:
        replace_iperf3(host, tmp_path, SERVER + busy + f"echo '{REPORT}'")
    assert len(run(hosts).measured()) == 2
    assert once.exists()


def test_nothing_runs_on_when_the_sessions_end(tmp_path: Path) -> None:
    """Closing is all that a broken connection does: the commands on the hosts notice."""
    hosts = shell_hosts(2)
    marks = [tmp_path / "server", tmp_path / "client"]
    # These sessions could start further processes. No time is left for any.
    is_closed = threading.Event()
    for host in hosts:
        script = f'case "$*" in "-s "*) mark={marks[0]};; *) mark={marks[1]};; esac\n'
        script += 'echo $$ >"$mark.$$"; mv "$mark.$$" "$mark"\n'
        replace_iperf3(host, tmp_path, f'{script}exec {shutil.which("iperf3")} "$@"')

    def close_what_runs() -> None:
        deadline = time.monotonic() + 30.0
        while not all(mark.exists() for mark in marks) and time.monotonic() < deadline:
            time.sleep(0.01)
        is_closed.set()
        for host in hosts:
            for process in session(host).started:
                process.close()

    ended = threading.Thread(target=close_what_runs)
    ended.start()
    # Only closing ends them in time.
    sink = run(hosts, left_s=lambda: 0.0 if is_closed.is_set() else no_limit(), duration_s=30)
    ended.join()
    assert not sink.measured()
    for mark in marks:
        assert not Path("/proc", mark.read_text().strip()).exists()
