"""Workers that are programs: scripts/train-digits-hub, forked from a process with PyTorch."""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from pytorch.processes import FORKED, await_server
from torch_hub.hubs import Place

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "train-digits-hub"
ENDS_WITHIN_S = 100
PR_SET_PDEATHSIG = 1


class Program:
    """A run of the script, whose output the test reads.

    Args:
        arguments: the script's command line.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        await_server()
        ear, mouth = FORKED.Pipe(duplex=False)
        self._process = FORKED.Process(target=_run, args=(mouth, arguments))
        self._process.start()
        mouth.close()
        with ear:
            self._output = os.fdopen(os.dup(ear.fileno()), encoding="utf-8")

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def wait_for(self, beginning: str) -> None:
        """Read until a line begins so."""
        lines = []
        for line in self._output:
            lines.append(line)
            if line.startswith(beginning):
                return
        raise AssertionError("".join(lines[-20:]))

    def accuracy(self) -> float:
        """Wait for a successful end, and return the accuracy that was printed."""
        output = self._output.read()
        self._process.join(ENDS_WITHIN_S)
        assert self._process.exitcode == 0, output[-3000:]
        (line,) = [line for line in output.splitlines() if line.startswith("accuracy")]
        return float(line.split()[1])

    def kill(self) -> None:
        """End the program whatever its state."""
        self._process.kill()
        self._process.join()
        self._output.close()


def command(place: Place | None, worker: int, *options: object) -> list[str]:
    """Return the arguments of a worker, or of one process that trains alone."""
    where = ["--alone"]
    if place is not None:
        where = ["--hub", ",".join(place.servers), "--secret-file", str(place.secret_file)]
    return [*where, "--worker", str(worker), *map(str, options)]


@contextmanager
def running(commands: Sequence[Sequence[str]]) -> Iterator[list[Program]]:
    """Start programs, those that the block adds included, and kill what still runs after it."""
    programs = [Program(arguments) for arguments in commands]
    try:
        yield programs
    finally:
        for program in programs:
            program.kill()


def _run(mouth: Connection, arguments: Sequence[str]) -> None:
    # The process ends with the one that it was forked from, even if that is killed.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(mouth.fileno(), 1)
    os.dup2(mouth.fileno(), 2)
    sys.argv = [str(SCRIPT), *arguments]
    runpy.run_path(str(SCRIPT), run_name="__main__")
