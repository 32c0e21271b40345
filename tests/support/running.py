"""What runs while a test looks: plink here, and what it starts on the hosts of a lab."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from labkit.namespaces import processes_in
from labkit.wiring import namespace
from support.lab import Lab
from support.plink_command import plink_argv


@contextlib.contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Plink with these arguments, which does not outlive the block."""
    argv = plink_argv(*arguments)
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, cwd="/") as run:
        try:
            yield run
        finally:
            run.kill()


def programs(lab: Lab, word: str) -> list[int]:
    """The processes on any host of a lab whose command line has the word in it."""
    found = []
    for pid in processes_in(namespace(lab.name, host) for host in lab.names):
        with contextlib.suppress(OSError):
            if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def wait_for(
    condition: Callable[[], object],
    process: subprocess.Popen[str] | None = None,
    *,
    limit_s: float = math.inf,
) -> None:
    """Wait until a condition holds, in the main thread as long as pytest lets the test run.

    Args:
        process: the process that is to bring the condition about.
        limit_s: seconds to wait; needed in another thread, which nothing else interrupts.

    Raises:
        AssertionError: the condition does not hold, and the process has ended or time is over.
    """
    deadline = time.monotonic() + limit_s
    is_over = False
    while not condition():
        assert not is_over, "the process has ended" if process else "the time is over"
        # What it did last is looked at once more.
        is_over = process is not None and process.poll() is not None
        is_over = is_over or time.monotonic() >= deadline
        time.sleep(0.05)


def wait_for_next(
    found: Callable[[], Collection[int]], process: subprocess.Popen[str] | None = None
) -> None:
    """Wait until processes have all ended, others have their place, and what they said arrived."""
    wait_for(found, process)
    first = set(found())
    wait_for(lambda: found() and first.isdisjoint(found()), process)
    time.sleep(0.5)
