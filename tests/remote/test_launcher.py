"""A launcher ends with who runs it, however that is ended; stand-ins that sleep take its part."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from plink.deploy.remote import launcher
from plink.deploy.remote.launcher import run_launcher

pytestmark = pytest.mark.timing

# Signals as plink's command line takes them: all are KeyboardInterrupt.
PROGRAM = """
import signal, sys
from plink.deploy.remote import launcher
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
launcher._TERMINATE_LIMIT_S = 1.0
try:
    launcher.run_launcher(["sh", "-c", sys.argv[1]], 60.0)
except KeyboardInterrupt:
    sys.exit(130)
"""
# It writes its process id and its child's, and waits for the child.
OBEDIENT = (
    "sleep 60 & echo $$ $! > {file}.new; mv {file}.new {file}; trap 'kill $!; exit' TERM; wait"
)
STUBBORN = "trap '' TERM; sleep 60 & echo $$ $! > {file}.new; mv {file}.new {file}; wait"


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pids: Sequence[int]) -> None:
    deadline = time.monotonic() + 5.0
    while left := [pid for pid in pids if is_alive(pid)]:
        if time.monotonic() > deadline:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            pytest.fail("a child was left running")
        time.sleep(0.05)


def wait_for_pids(file: Path) -> list[int]:
    deadline = time.monotonic() + 20.0
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [int(word) for word in file.read_text().split()]


@pytest.mark.parametrize(
    ("script", "signals"),
    [
        (OBEDIENT, [signal.SIGTERM]),
        (STUBBORN, [signal.SIGHUP]),
        (STUBBORN, [signal.SIGINT, signal.SIGINT, signal.SIGTERM]),
    ],
)
def test_nothing_is_left_when_plink_is_ended(
    script: str, signals: Sequence[signal.Signals], tmp_path: Path
) -> None:
    file = tmp_path / "pids"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, script.format(file=file)], cwd="/")
    try:
        pids = wait_for_pids(file)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.4)
        assert process.wait(timeout=100) == 130
    finally:
        process.kill()
        process.wait()
    wait_until_gone(pids)


def test_a_launcher_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "_TERMINATE_LIMIT_S", 0.5)
    file = tmp_path / "pids"
    assert run_launcher(["sh", "-c", STUBBORN.format(file=file)], 3.0) is None
    wait_until_gone(wait_for_pids(file))


def test_a_child_that_escapes_and_keeps_the_pipes_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "_TERMINATE_LIMIT_S", 0.5)
    monkeypatch.setattr(launcher, "_KILL_LIMIT_S", 0.5)
    file = tmp_path / "pids"
    script = f"setsid sleep 60 & echo $! > {file}.new; mv {file}.new {file}; wait"
    begin = time.monotonic()
    try:
        assert run_launcher(["sh", "-c", script], 3.0) is None
        assert time.monotonic() - begin < 30.0
    finally:
        os.kill(wait_for_pids(file)[0], signal.SIGKILL)
