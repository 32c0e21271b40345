"""A program that is bound to its starter does not outlive it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from labkit.bound import BOUND
from support.running import wait_for

STARTER = """
import subprocess, sys
subprocess.run(sys.argv[1:])
"""
# Says who it is once it is bound.
PROGRAM = ("sh", "-c", "echo $$; exec sleep 60")


def test_a_killed_starter_takes_it_along() -> None:
    argv = [sys.executable, "-c", STARTER, *BOUND, *PROGRAM]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        bound = Path("/proc", starter.stdout.readline().strip(), "stat")
        assert bound.read_text().split()[2] != "Z"
        starter.kill()
        starter.wait()
        wait_for(lambda: not bound.exists() or bound.read_text().split()[2] == "Z")
