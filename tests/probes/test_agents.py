"""The agents of a run as the coordinator holds them, from their start to their last word."""

from __future__ import annotations

import time
from typing import Any

import pytest

from plink.probes.echo import coordinator
from plink.probes.echo.coordinator import ECHO_AGENT, Agents
from plink.probes.errors import HostError
from plink.probes.remote.session import Completed, OutputEnded
from support.jobs import echo_job
from support.local_hosts import ListSink, LocalProcess, LocalSession, local_hosts


def test_no_agent_waits_for_the_files_of_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    run, start = LocalSession.run, LocalSession.start

    def slow_run(self: LocalSession, command: str, *more: Any) -> Completed:
        time.sleep(0.05)
        done.append("file")
        return run(self, command, *more)

    def noted_start(self: LocalSession, command: str) -> LocalProcess:
        done.append("start")
        return start(self, command)

    monkeypatch.setattr(LocalSession, "run", slow_run)
    monkeypatch.setattr(LocalSession, "start", noted_start)
    with Agents(local_hosts(4), ECHO_AGENT, None) as held:
        assert held.start(2) == {}
    assert done.index("start") > max(i for i, what in enumerate(done) if what == "file")


def test_a_host_without_its_file_is_named_and_the_others_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(host: Any, *_: Any) -> str:
        if host.name == "h1":
            raise HostError("h1", "has no room")
        return "path"

    monkeypatch.setattr(coordinator, "deploy", fail)
    with Agents(local_hosts(3), ECHO_AGENT, None) as held:
        assert {index: str(error) for index, error in held.start(2).items()} == {1: "has no room"}


def test_the_last_word_of_an_agent_is_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: LocalProcess, text: str) -> None:
        raise HostError(self.host, "the connection was lost")

    with Agents(local_hosts(1), ECHO_AGENT, None) as held:
        assert held.start(1) == {}
        held.send(0, "no such line\n")
        monkeypatch.setattr(LocalProcess, "write", broken)
        # The coordinator goes on speaking until it hears that the agent has ended.
        held.send(0, "alive\n")
        assert held.receive(5) == (0, OutputEnded("does not understand no"))


def test_the_agents_hear_of_a_coordinator_that_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_ASK_EVERY_S", 0.1)
    hosts, heard = local_hosts(6), []
    session: Any = hosts[0].session
    session.rewrite = lambda text: heard.append(text) or text
    # There is always something more to take: the agents are far ahead.
    sink = ListSink(on_reading=lambda _: time.sleep(0.05))
    coordinator.measure(echo_job(hosts, 1000, count=5), sink)
    assert heard.count("alive\n") > 5
