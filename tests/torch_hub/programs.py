"""Workers that are programs: scripts/train-digits-hub, forked from a process with PyTorch."""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import mock

from benchkit import digits
from plink.hub.worker import Worker
from plink.torch.hub import link
from pytorch.processes import FORKED, await_server
from torch_hub.hubs import Place

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "train-digits-hub"
ENDS_WITHIN_S = 100
_LOOK_S = 0.01
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Gate:
    """Point at which workers wait until the hub counts on another one.

    Args:
        file: exists once the gate is open.
        step: first step that is not taken before.
    """

    file: Path
    step: int

    def hold(self) -> None:
        """Have the script in this process wait for the gate where it draws a step's images."""
        draw = digits.drawn_images

        def drawn_images(seed: int, step: int, *others: Any) -> Any:
            while step >= self.step and not self.file.exists():
                time.sleep(_LOOK_S)
            return draw(seed, step, *others)

        mock.patch.object(digits, "drawn_images", drawn_images).start()

    def open_when_joined(self) -> None:
        """Have the script in this process open the gate when it has joined.

        The hub has then told the worker its first iteration, which does not end without it. The
        worker waits for the others to get there before it takes a step.
        """

        def join(*arguments: Any) -> Worker:
            worker = Worker(*arguments)
            self.file.touch()
            return worker

        mock.patch.object(link, "Worker", join).start()


class Program:
    """A run of the script, whose output the test reads.

    Args:
        arguments: the script's command line.
        prepare: called in its process before it begins.
    """

    def __init__(
        self, arguments: Sequence[str], prepare: Callable[[], object] | None = None
    ) -> None:
        await_server()
        ear, mouth = FORKED.Pipe(duplex=False)
        self._process = FORKED.Process(target=_run, args=(mouth, arguments, prepare))
        self._process.start()
        mouth.close()
        with ear:
            self._output = os.fdopen(os.dup(ear.fileno()), encoding="utf-8")

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
def running(
    commands: Sequence[Sequence[str]], prepare: Callable[[], object] | None = None
) -> Iterator[list[Program]]:
    """Start programs, and kill what still runs after the block, those that it adds included."""
    programs = [Program(arguments, prepare) for arguments in commands]
    try:
        yield programs
    finally:
        for program in programs:
            program.kill()


def _run(mouth: Connection, arguments: Sequence[str], prepare: Callable[[], object] | None) -> None:
    # The process ends with the one that it was forked from, even if that is killed.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.dup2(mouth.fileno(), 1)
    os.dup2(mouth.fileno(), 2)
    sys.argv = [str(SCRIPT), *arguments]
    if prepare is not None:
        prepare()
    runpy.run_path(str(SCRIPT), run_name="__main__")
