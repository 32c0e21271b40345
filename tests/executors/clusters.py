"""Small real clusters of this machine's own, for the tests of executors."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.ports import reserved_port
from support.ray_nodes import HEAD_OPTIONS, ray_node

# Starting takes a second when quiet; a busy machine needs more.
_START_S = 100.0
# Neither the system gives these to clients, nor Ray to its workers and their servers.
_PORTS = range(25000, 32000)


@contextmanager
def dask_cluster() -> Iterator[str]:
    """The address of a scheduler with a worker process of its own."""
    python = [sys.executable, "-m"]
    plain = ["--no-dashboard"]
    with tempfile.TemporaryDirectory() as folder, reserved_port("127.0.0.1", _PORTS) as port:
        place = f"127.0.0.1:{port}"
        scheduler = [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", *plain]
        worker = [*python, "distributed.cli.dask_worker", f"tcp://{place}", *plain, "--no-nanny"]
        commands = [
            [*scheduler, "--port", str(port)],
            [*worker, "--nthreads", "2", "--local-directory", folder],
        ]
        # Their lines are many; what is wrong with a cluster is told by the client.
        processes = [
            subprocess.Popen(
                command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            for command in commands
        ]
        try:
            _wait_for(port)
            yield f"dask://{place}"
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


@contextmanager
def ray_cluster() -> Iterator[str]:
    """The address of the client server of a Ray head with two processors' worth of work."""
    with (
        tempfile.TemporaryDirectory(prefix="ray") as folder,
        reserved_port("", _PORTS) as head_port,
        reserved_port("", _PORTS) as port,
    ):
        options = [
            *HEAD_OPTIONS,
            "--num-cpus=2",
            "--node-ip-address=127.0.0.1",
            f"--port={head_port}",
            f"--ray-client-server-port={port}",
            f"--temp-dir={folder}",
        ]
        with ray_node(Path(folder, "start.log"), options) as head:
            head.wait_until(lambda: _listens(port))
            yield f"ray://127.0.0.1:{port}"


def _wait_for(port: int) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until:
        if _listens(port):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
