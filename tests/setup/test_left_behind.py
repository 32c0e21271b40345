"""scripts/test notices what a test left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lab import lab_cluster

LIBRARY = Path(__file__).resolve().parents[2] / "scripts" / "lib" / "left_behind.sh"

# No process has this number: Linux counts to 2^22.
ENDED = "plink.t4194305-1"


def left_behind(run: str, namespaces_now: str, before: str = "") -> list[str]:
    """What the check reports for a run, where `ip netns list` printed `namespaces_now`."""
    program = f"""
        set -euo pipefail
        . {LIBRARY}
        ip() {{ printf '%s' "$NAMESPACES"; }}
        left_behind "$1" "$2"
    """
    environment = {**os.environ, "NAMESPACES": namespaces_now}
    environment.pop("PLINK_TEST_RUN", None)
    result = subprocess.run(
        ["bash", "-c", program, "check", run, before],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    return result.stdout.splitlines()


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PLINK_TEST_RUN": f"sleeper-{os.getpid()}"}
    with subprocess.Popen(["sleep", "60"], env=environment) as process:
        yield process
        process.kill()


def test_process_of_the_run_is_reported_until_it_ends(sleeper: subprocess.Popen[bytes]) -> None:
    run = f"sleeper-{os.getpid()}"
    assert left_behind(run, "") == [f"process {sleeper.pid}: sleep 60 "]
    sleeper.kill()
    sleeper.wait()
    assert left_behind(run, "") == []


@pytest.mark.lab
def test_process_of_the_run_is_reported_also_beyond_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f"beyond-ssh-{os.getpid()}"
    monkeypatch.setenv("PLINK_TEST_RUN", run)
    options = ["--set-env", "GREETING=good day"]
    with lab_cluster(racks=1, hosts=1, options=["--set-env", "OTHER=1", *options]) as lab:
        monkeypatch.delenv("PLINK_TEST_RUN")
        ssh = ["ssh", "-F", str(lab.ssh_config), lab.names[0]]
        remote = 'echo "$OTHER $GREETING"; exec sleep 61'
        with subprocess.Popen([*ssh, remote], stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "1 good day\n"
            reported = [line for line in left_behind(run, "") if line.endswith(": sleep 61 ")]
            client.kill()
        assert len(reported) == 1


def test_process_of_another_run_is_not_reported(sleeper: subprocess.Popen[bytes]) -> None:
    # A run whose name begins like the sleeper's, too.
    assert left_behind(f"sleeper-{os.getpid()}"[:-1], "") == []


def test_only_namespaces_of_ended_test_runs_are_reported() -> None:
    running = f"plink.t{os.getpid()}-1.spine"
    now = f"plink.demo.web (id: 1)\n{ENDED}.rack-1 (id: 0)\n{running}\nplink.team-1.a\nvpn\n"
    assert left_behind("no-run", now) == [f"network namespace {ENDED}.rack-1"]


def test_namespaces_that_were_there_before_are_not_reported() -> None:
    now = f"{ENDED}.a\n{ENDED}.b\n"
    assert left_behind("no-run", now, before=f"{ENDED}.a") == [f"network namespace {ENDED}.b"]


def test_nothing_is_reported_where_nothing_is_left() -> None:
    assert left_behind("no-run", "") == []
