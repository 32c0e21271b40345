"""Ending of a local process group."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress


def end_group(process: subprocess.Popen[bytes], goodbye_s: float, terminate_s: float) -> None:
    """Wait for a process to end; after a while signal its group, then kill it.

    Args:
        process: the leader of its group.
        goodbye_s: how long it may take by itself.
        terminate_s: how long after SIGTERM, before SIGKILL.
    """
    for limit_s, number in (goodbye_s, signal.SIGTERM), (terminate_s, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired):
            process.wait(limit_s)
            return
        signal_group(process, number)
    process.wait()


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal a process group, as kubectl and srun start helpers; nothing if it has ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
