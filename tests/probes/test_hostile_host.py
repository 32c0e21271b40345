"""A host of the run that does what it can against the coordinator, over real SSH."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from plink.probes.echo import coordinator
from plink.probes.remote import session as remote_session
from plink.probes.remote.session import OutputEnded, RemoteProcess, Session
from plink.probes.ssh.connect import SshOpener
from support.jobs import echo_job
from support.local_hosts import AGENT, ListSink, local_hosts
from support.pairs import all_pairs
from support.sshd import Sshd

pytestmark = pytest.mark.timing

EVIL = 2


@dataclass
class EvilSession:
    """A session on which another command than the agent is started."""

    session: Session
    command: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)

    def start(self, command: str) -> RemoteProcess:
        return self.session.start(self.command)


@pytest.fixture
def run(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], tuple[ListSink, float]]]:
    """Measures four hosts of which one runs a command of its own; says how long it took."""
    monkeypatch.setattr(coordinator, "_REPORT_WITHIN_S", 4.0)
    monkeypatch.setattr(coordinator, "_ASK_EVERY_S", 0.5)
    monkeypatch.setattr(remote_session, "_EXIT_WITHIN_S", 0.3)
    options = sshd.options()
    with_ssh: list[Session] = []

    def measure(command: str, concurrency: int = 1) -> tuple[ListSink, float]:
        session = SshOpener(options).connect(sshd.target(options))
        with_ssh.append(session)
        hosts, sink = local_hosts(4), ListSink()
        evil = cast("Any", EvilSession(session, command))
        hosts[EVIL] = dataclasses.replace(hosts[EVIL], session=evil)
        monkeypatch.setattr(coordinator, "Agents", with_uploaded)
        began = time.monotonic()
        coordinator.measure(echo_job(hosts, concurrency, count=20), sink)
        return sink, time.monotonic() - began

    yield measure
    for session in with_ssh:
        session.close()


class with_uploaded(coordinator.Agents):  # noqa: N801
    """Agents that are on every host already."""

    def _deploy(self, index: int) -> str:
        return str(AGENT)


def peak_kb() -> int:
    """The most memory that this process has had."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line)


def peak_kb_from_here() -> int:
    """What it has now, and counts from: earlier tests may have had far more."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_kb()


# Whichever the reader or the coordinator notices first.
MORE_OR_OTHER = "sent more lines than|reports a pair that it was not given"
REPLY = "head -n 3 >/dev/null; echo bound 9; "


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("exec yes alive", "sent more lines than"),
        ("exec yes", "which is not a message of the echo agent"),
        (f"{REPLY}exec yes 'rtt 0 1 20 20 5000 5000 5000'", MORE_OR_OTHER),
        (f"{REPLY}exec yes 'over 0 3 9 9 9'", MORE_OR_OTHER),
        (f"{REPLY}exec yes alive", "sent more lines than"),
        ("exec tr '\\0' x </dev/zero", "sent a line longer than"),
        ("exec cat /dev/urandom", "sent "),
        ("printf 'bound 1\\377\\n'; exec sleep 60", "sent bytes that are not text"),
        ("exec yes flood >&2", "did not start within"),
        (f"{REPLY}exec yes flood >&2", "take its schedule within"),
        ("printf '\\033]0;evil\\007\\n' >&2", "^\ufffd]0;evil\ufffd$"),
        ("exec true", "its echo agent ended"),
    ],
)
def test_it_costs_its_own_pairs_and_little_memory(
    run: Callable[[str], tuple[ListSink, float]],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    reason: str,
) -> None:
    if reason.endswith("within"):
        # Long enough for the other hosts on a busy machine.
        monkeypatch.setattr(coordinator, "_BIND_WAIT_S", 6.0)
    before_kb = peak_kb_from_here()
    sink, seconds = run(command)
    assert [loss.host for loss in sink.host_losses] == [EVIL]
    assert re.search(reason, sink.host_losses[0].reason)
    # It may lie about its own pairs, and about no other.
    assert {pair for pair in all_pairs(4) if EVIL not in pair} <= sink.measured()
    assert sink.measured() | sink.lost() == all_pairs(4)
    assert seconds < 60
    assert peak_kb() - before_kb < 64 << 10


# It answers, and may say too early that a meeting is over: but never how its meetings end.
LIVES = "while read w r _; do [ $w = bind ] && echo bound 9; [ $w = alive ] && echo alive; "


@pytest.mark.parametrize(
    ("concurrency", "early"), [(4, ""), (1, "[ $w = start ] && echo over 0 1 9 9 9; ")]
)
def test_it_lives_and_reports_nothing(
    run: Callable[..., tuple[ListSink, float]], early: str, concurrency: int
) -> None:
    sink, seconds = run(f"{LIVES}{early}done", concurrency)
    assert [loss.host for loss in sink.host_losses] == [EVIL]
    assert "does not say how its meetings end" in sink.host_losses[0].reason
    assert {pair for pair in all_pairs(4) if EVIL not in pair} <= sink.measured()
    assert sink.measured() | sink.lost() == all_pairs(4)
    assert seconds < 60


def test_a_host_that_takes_no_input_is_given_up(
    sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_session, "_WRITE_WITHIN_S", 0.5)
    options = sshd.options()
    session = SshOpener(options).connect(sshd.target(options))
    (host,) = local_hosts(1)
    evil = cast("Any", EvilSession(session, "exec sleep 60"))
    with with_uploaded([dataclasses.replace(host, session=evil)], cast("Any", None), None) as held:
        assert held.start(1) == {}
        began = time.monotonic()
        # More than the windows of SSH and TCP hold.
        held.send(0, "x" * (64 << 20))
        assert time.monotonic() - began < 60
        said = held.receive(5)
    assert said == (0, OutputEnded("the connection was lost"))


def test_only_the_end_of_standard_error_is_kept() -> None:
    tail = remote_session.StderrTail(b"%07d\n" % number for number in range(10_000))
    assert tail.last_line() == "0009999"
    assert len(tail._tail) == 4096
