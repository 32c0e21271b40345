"""What an interrupt must not take away."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from plink.base.interrupts import defer_interrupts
from plink.cli import run as run_plink
from plink.formats import cluster as cluster_file
from plink.measure.probing import request
from plink.probes.options import SshOptions
from plink.probes.reach import Reached
from plink.probes.samples import MeasuringJob, PairLoss, RttReading, Sink
from plink.probes.ssh.connect import SshOpener
from support.reached import reached_host


class InterruptedClosing(Reached):
    """Hosts whose connections the user has no patience to see closed."""

    def __exit__(self, *_: object) -> None:
        raise KeyboardInterrupt


@pytest.fixture
def two_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A list of two hosts that no connection is needed for."""
    hosts = [reached_host(1), reached_host(2)]
    monkeypatch.setattr(
        request, "reach", lambda *_, **__: InterruptedClosing(SshOpener(SshOptions()), hosts)
    )
    listed = tmp_path / "hosts"
    listed.write_text("h1\nh2\n")
    return listed


def set_tool(monkeypatch: pytest.MonkeyPatch, *, silent: bool) -> None:
    def measure(job: MeasuringJob[Any], sink: Sink[RttReading]) -> None:
        for i, j in job.wanted:
            if silent:
                sink.pair_lost(PairLoss(i, j, "no answer"))
            else:
                sink.reading(RttReading(i, j, 1, 1, dict.fromkeys((10.0, 50.0, 99.0), 5.0)))

    monkeypatch.setattr("plink.probes.echo.coordinator.measure", measure)


def test_what_was_measured_is_written_before_connections_are_closed(
    two_hosts: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    set_tool(monkeypatch, silent=False)
    output = str(tmp_path / "c.json")
    assert run_plink(["probe", str(two_hosts), "-o", output]) == 0
    cluster = cluster_file.read_cluster(output)
    assert cluster.names == ["h1", "h2"]


def test_no_reading_replaces_no_file(
    two_hosts: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    set_tool(monkeypatch, silent=True)
    monkeypatch.setattr(InterruptedClosing, "__exit__", Reached.__exit__)
    output = tmp_path / "c.json"
    output.write_text("a good one")
    assert run_plink(["probe", str(two_hosts), "-o", str(output)]) == 1
    assert output.read_text() == "a good one"
    assert "h1 to h2: no answer" in capsys.readouterr().err


def write_while_interrupted(done: list[str]) -> None:
    with defer_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        done.append("written")


def test_an_interrupt_waits_for_the_block() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        write_while_interrupted(done)
    assert done == ["written"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_without_an_interrupt_nothing_is_raised() -> None:
    with defer_interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
