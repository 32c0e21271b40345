"""Workers that are programs: scripts/train-digits-hub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from labkit.bound import BOUND
from torch_hub.hubs import Place

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "train-digits-hub"
ENDS_WITHIN_S = 100

Program = subprocess.Popen[str]


def command(place: Place | None, worker: int, *options: object) -> list[str]:
    """Of a worker, or of one process alone."""
    where = ["--alone"]
    if place is not None:
        where = ["--hub", ",".join(place.servers), "--secret-file", str(place.secret_file)]
    own = ["--worker", str(worker), *map(str, options)]
    return [*BOUND, sys.executable, str(SCRIPT), *where, *own]


@contextmanager
def running(commands: Sequence[Sequence[str]]) -> Iterator[list[Program]]:
    """They have ended, or are killed."""
    programs = [start(one) for one in commands]
    try:
        yield programs
    finally:
        for program in programs:
            program.kill()
            program.wait()
            if program.stdout is not None:
                program.stdout.close()


def start(one: Sequence[str]) -> Program:
    # Elsewhere than in the checkout, whose packages would hide the installed ones.
    return subprocess.Popen(
        one, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/", env=os.environ
    )


def wait_for(program: Program, line: str) -> None:
    """Read until the program says a line that begins so."""
    said = []
    for found in program.stdout or ():
        said.append(found)
        if found.startswith(line):
            return
    raise AssertionError("".join(said[-20:]))


def outcome(program: Program) -> float:
    """The accuracy with which it ends."""
    said, _ = program.communicate(timeout=ENDS_WITHIN_S)
    assert program.returncode == 0, said[-3000:]
    (line,) = [one for one in said.splitlines() if one.startswith("accuracy")]
    return float(line.split()[1])
