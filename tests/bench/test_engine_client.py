"""The engine client and its workers, real engines on loopback."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from bench.local_sessions import local_remote_hosts, process_of, wait_for_ends
from engine.certificates import job
from plans.strategies import two_by_two
from plink import __version__
from plink.bench.clients.client import Launch, Workload
from plink.bench.clients.engine import EngineClient, explain
from plink.bench.clients.workers import Relay, measure_command
from plink.bench.workers import engine_collectives
from plink.deploy.remote.hosts import RemoteHost
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.plans.forest import make_forest
from plink.plans.names import COLLECTIVES, SEND_RECEIVE
from plink.probes.errors import HostError

# Chains to either of two ranks.
TWO = make_forest([1.0, 1.0], [[-1, 0], [1, -1]], [[-1, 0], [1, -1]])


@contextmanager
def client(
    hosts: Sequence[RemoteHost], python: str = sys.executable, tls: str | None = None
) -> Iterator[EngineClient]:
    engine = EngineClient(hosts, python, 60.0, tls=tls)
    try:
        yield engine
    finally:
        engine.close()
        wait_for_ends(hosts)


def workload(size_bytes: int, repetitions: int = 3) -> Workload:
    return Workload(size_bytes, 1, repetitions, timeout_s=30.0)


def test_launch_after_launch_a_killed_worker_and_no_other_is_blamed() -> None:
    hosts = local_remote_hosts(5)
    with client(hosts) as engine:
        facts = engine.start()
        assert facts.versions["plink"] == __version__
        for size_bytes in (4, 4 * 100_003):
            order = [3, 0, 4, 1]
            measured = engine.launch(Launch(order, workload(size_bytes), two_by_two()))
            assert len(measured.seconds) == len(measured.cpu_s) == 3
            assert all(0.0 < value < 30.0 for value in measured.seconds)
            assert measured.traffic is not None
            sent = np.array(measured.traffic.sent_bytes) / 3
            assert np.array_equal(sent, np.array(measured.traffic.received_bytes).T / 3)
            planned = traffic_bytes(build_traffic(Demand("all-reduce", size_bytes), two_by_two()))
            # Frames have headers, and the least chunk is a share of its own.
            assert np.all(sent[planned == 0.0] == 0.0)
            assert abs(sent.sum() - planned.sum()) < 0.02 * planned.sum() + 8 * 6
        for collective in COLLECTIVES:
            # A root's buffer is rank 0's, whose results are checked with all others'.
            asked = Workload(4 * 100_003, 1, 1, timeout_s=30.0, collective=collective)
            launched = engine.launch(Launch([3, 0, 4, 1], asked, two_by_two()))
            seen = launched.traffic
            assert seen is not None
            demand = Demand(collective, asked.size_bytes)
            expected = traffic_bytes(build_traffic(demand, two_by_two()))
            sent = np.array(seen.sent_bytes)
            # A receiver asks for its message by a note.
            notes_bytes = 20 if collective == SEND_RECEIVE else 0
            assert np.all(sent[expected == 0.0] <= notes_bytes)
            assert abs(sent.sum() - expected.sum()) < 0.02 * expected.sum() + 200
        engine.launch(Launch([2, 4], workload(4), TWO))
        process_of(hosts[0]).send_signal(signal.SIGKILL)
        with pytest.raises(HostError, match="the engine worker ended") as caught:
            engine.launch(Launch([3, 0, 4, 1], workload(4), two_by_two()))
        assert caught.value.host == "h0"


def test_engines_may_encrypt(tmp_path: Path) -> None:
    hosts = local_remote_hosts(2)
    with client(hosts, tls=f"{job(tmp_path / 'job')}/host") as engine:
        engine.start()
        assert len(engine.launch(Launch([0, 1], workload(4000), TWO)).seconds) == 3
    with client(hosts, tls=f"{tmp_path}/nowhere") as engine:
        engine.start()
        with pytest.raises(HostError, match=r"nowhere/certificate\.pem: No such file"):
            engine.launch(Launch([0, 1], workload(4000), TWO))


def other_python(folder: Path, script: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (f'exec {sys.executable} -I -S "$@"', "is not installed for the remote interpreter"),
        (
            'echo \'{"event": "started", "plink": "0.0.9"}\'; exec cat > /dev/null',
            f"has plink 0.0.9, and this is {__version__}",
        ),
        ("echo nonsense; exec cat > /dev/null", "it sent something that is not an answer"),
    ],
)
def test_hosts_without_this_plink_are_named(tmp_path: Path, script: str, complaint: str) -> None:
    with client(local_remote_hosts(2), other_python(tmp_path, script)) as engine:
        with pytest.raises(HostError, match=complaint) as caught:
            engine.start()
        assert "--python PATH" in (caught.value.hint or "") or "nonsense" in script


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("No module named 'plink.bench.workers.engine_collectives'", "it has no engine to bench"),
        ("cannot import name 'x' from 'plink.engine._native'", "without its native engine"),
        ("No module named 'numpy'", "NumPy is not installed"),
    ],
)
def test_what_is_missing_is_said(reason: str, said: str) -> None:
    found = explain(f"ModuleNotFoundError: {reason}")
    assert found is not None
    assert said in found[0]
    assert "--python PATH" in found[1]
    assert explain("it is on fire") is None


class FakeEngine:
    """An engine of one rank whose allreduce goes wrong in `spoiled` elements."""

    rank, ranks = 0, 1

    def __init__(self, spoiled: int) -> None:
        self.spoiled = spoiled

    def allreduce(self, buffer: Any) -> FakeEngine:
        buffer[: self.spoiled] += 1
        return self

    def wait(self, timeout_s: float) -> None:
        pass

    def statistics(self) -> Any:
        return engine_collectives.Statistics(0, [], [])


class NoWatchdog:
    """Lets everything take as long as it takes."""

    def begin(self, step: str, limit_s: float) -> None:
        pass


@pytest.mark.parametrize("spoiled", [0, 1, 7])
def test_every_wrong_element_is_counted(spoiled: int) -> None:
    rank = engine_collectives.Rank({"address": ""}, cast("Any", NoWatchdog()), cast("Any", None))
    rank.engines = cast("Any", [FakeEngine(spoiled), FakeEngine(0)])
    elements = engine_collectives.PART_ELEMENTS + 7
    workload = Workload(size_bytes=4 * elements, warmups=1, repetitions=2)
    reply = rank.measure(measure_command(workload, 0, 1))
    assert reply["wrong_elements"] == 3 * spoiled
    assert len(reply["seconds"]) == 2
    json.dumps(reply)


def test_a_value_goes_to_all_who_asked_before_and_after_it_was_set() -> None:
    relay = Relay()
    assert relay.handle(1, {"event": "get", "key": "k"}) == []
    assert relay.handle(2, {"event": "get", "key": "other"}) == []
    value = {"do": "value", "key": "k", "value": "00ff"}
    assert relay.handle(0, {"event": "set", "key": "k", "value": "00ff"}) == [(1, value)]
    assert relay.handle(0, {"event": "get", "key": "k"}) == [(0, value)]
    assert not relay.takes({"event": "measured", "key": "k"})
    assert not relay.takes({"event": "get", "key": ["k"]})
