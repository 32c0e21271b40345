"""Building and starting the delay box (`delaybox.cpp`), the lab's stand-in for netem."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, cast

from labkit.errors import LabError

SOURCE = Path(__file__).with_name("delaybox.cpp")
# Frames that wait until the box is given a core; a device drops what comes when it has so many.
TAP_QUEUE_FRAMES = 10_000


def build(folder: Path) -> Path:
    """Compile the delay box into a folder.

    Raises:
        LabError: there is no compiler, or it fails.
    """
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise LabError("a wide area needs a C++ compiler", "apt-get install g++")
    program = folder / "delaybox"
    argv = [compiler, "-std=c++17", "-O2", "-o", str(program), str(SOURCE)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[:1] or ["no reason given"]
        raise LabError(f"the delay box does not compile: {reason[0]}")
    return program


def start(program: Path, text: str, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start a delay box, whose ports are there when this returns.

    Args:
        program: that `build` made; it may be removed once this has returned.
        text: of `labkit.wan.box_text`.
        prefix: what takes a command line to where the ports belong.

    Raises:
        LabError: a port cannot be made.
    """
    box = subprocess.Popen(
        [*prefix, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stdin, stdout = (cast("IO[str]", pipe) for pipe in (box.stdin, box.stdout))
    with contextlib.suppress(BrokenPipeError):
        stdin.write(text)
        stdin.flush()
    if not stdout.readline():
        with contextlib.suppress(BrokenPipeError):
            _, said = box.communicate()
        raise LabError(f"the delay box did not start: {said.strip() or 'no reason given'}")
    return box


def leave(box: subprocess.Popen[str]) -> None:
    """Let a box that is not bound to its input go on by itself."""
    for pipe in (box.stdin, box.stdout, box.stderr):
        cast("IO[str]", pipe).close()


def port_lines(port: str, bridge: str) -> list[str]:
    """For `ip -batch`: plug a box's port into a bridge."""
    return [
        f"link set dev {port} txqueuelen {TAP_QUEUE_FRAMES}",
        f"link set dev {port} master {bridge} up",
    ]
