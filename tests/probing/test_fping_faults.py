"""`plink probe --tool fping` when the user has enough, or plink is killed."""

from __future__ import annotations

import signal
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.lab import Lab
from support.pairs import measured
from support.plink_command import ssh_options
from support.running import programs, started, wait_for, wait_for_next

pytestmark = pytest.mark.lab


def fpings(lab: Lab) -> list[int]:
    """The fpings that run on any host, their shells and watchers."""
    return programs(lab, "fping")


def measuring(lab: Lab) -> list[int]:
    """The fpings that measure: not those asked for their version."""
    return programs(lab, "fping\0-q\0")


def run_of(lab: Lab, out: Path, count: int) -> AbstractContextManager[subprocess.Popen[str]]:
    """A run that two pairs at a time are part of, a millisecond a ping."""
    options = ("--tool", "fping", "--count", count, "--passes", 1, "--concurrency", 2)
    return started("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *options)


def test_an_interrupt_stops_at_once_and_keeps_what_there_is(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    with run_of(lab, out, 1000) as run:
        wait_for_next(lambda: measuring(lab), run)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=100)
    assert run.returncode == 3, complaint
    assert "Traceback" not in complaint
    assert 0 < len(measured(out)) < 30
    wait_for(lambda: not fpings(lab))


def test_a_killed_coordinator_leaves_no_fping(lab: Lab, tmp_path: Path) -> None:
    with run_of(lab, tmp_path / "c.json", 10_000) as run:
        wait_for(lambda: measuring(lab), run)
        run.kill()
        run.communicate()
    wait_for(lambda: not fpings(lab))
    assert not list(tmp_path.iterdir())
