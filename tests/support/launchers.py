"""Running real launchers on the files that plink writes, as their usage line says."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from plink.deploy.launchers import FORMATS
from plink.formats.hosts import Host

# The Debian names, which are there also where another MPI owns `mpirun` and `mpiexec`.
PROGRAMS = {"mpirun": "mpirun.openmpi", "mpiexec": "mpiexec.hydra"}


def expected_placement(hosts: Sequence[Host]) -> list[str]:
    """The host of every rank that an order asks for."""
    return [host.name for host in hosts for _ in range(host.slots)]


def mpi_command(name: str, path: Path, ranks: int, options: Sequence[str], shell: str) -> list[str]:
    """The usage line of format `name` for a file, with `options` and a shell line as program."""
    values = {"FILE": [str(path)], "RANKS": [str(ranks)], "PROGRAM": ["sh", "-c", shell]}
    first, *rest = shlex.split(FORMATS[name].usage)
    words = [word for given in rest for word in values.get(given, [given])]
    return [PROGRAMS[first], *options, *words]


def placement(
    command: Sequence[str], environment: Mapping[str, str] | None = None, timeout_s: float = 60.0
) -> list[str]:
    """Run a command whose ranks each print `placed RANK HOST`; the host of every rank.

    Whatever it started dies with it.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=timeout_s)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, errors[-3000:]
    found = {}
    for line in output.splitlines():
        if line.startswith("placed "):
            _, rank, host = line.split()
            assert int(rank) not in found, output
            found[int(rank)] = host
    assert sorted(found) == list(range(len(found))), output + errors[-3000:]
    return [found[rank] for rank in range(len(found))]
