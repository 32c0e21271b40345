"""Nodes of Ray that end with the test, even if it is killed, and say why they did not start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Starting takes seconds when quiet; a busy machine needs more.
START_S = 100.0
_END_S = 20.0
# The command, and an end for its whole group when it ends or when the input does. Some of Ray's
# processes would outlive a `ray start` that was killed by a minute.
_BOUND_GROUP = '("$@"; kill -KILL 0) </dev/null & cat >/dev/null; kill -KILL 0'
_SHOWN_CHARACTERS = 2000
ENVIRONMENT = {
    # On a busy machine a node takes longer than Ray's own limit.
    "RAY_raylet_start_wait_time_s": str(int(START_S)),
    # With it, servers for clients now and then die where the head forks them.
    "GRPC_ENABLE_FORK_SUPPORT": "0",
}
HEAD_OPTIONS = ("--head", "--include-dashboard=false", "--disable-usage-stats")


@dataclass(frozen=True)
class RayNode:
    """A node that starts.

    Args:
        process: the leader of the node's processes.
        log: what it prints.
    """

    process: subprocess.Popen[bytes]
    log: Path

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait for a sign that the node is there.

        Raises:
            RuntimeError: it ended before, or took too long; with the end of what it printed.
        """
        deadline = time.monotonic() + START_S
        while not is_so():
            if self.process.poll() is not None:
                raise RuntimeError(f"ray start ended early: {self._said()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"no node of Ray after {START_S:.0f} s: {self._said()}")
            time.sleep(0.1)

    def wait_until_started(self) -> None:
        """Wait until Ray says so."""
        self.wait_until(lambda: "Ray runtime started" in self.log.read_text(errors="replace"))

    def _said(self) -> str:
        return self.log.read_text(errors="replace")[-_SHOWN_CHARACTERS:]


@contextmanager
def ray_node(
    log: Path, options: Sequence[str], *, entry: Callable[[list[str]], list[str]] = list
) -> Iterator[RayNode]:
    """A node of Ray for a while.

    Args:
        log: a new file for what it prints.
        options: of `ray start`.
        entry: makes the command line that is run from the node's, such as one that enters a host.
    """
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block"]
    command = entry([*ray, "--object-store-memory=100000000", *options])
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", _BOUND_GROUP, "node", *command],
            cwd=log.parent,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield RayNode(process, log)
    finally:
        process.communicate(timeout=_END_S)
