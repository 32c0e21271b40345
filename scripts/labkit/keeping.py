"""Starting, finding and ending the keeper of a lab without root, from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, cast

from labkit import keeper as inside
from labkit.errors import LabError
from labkit.registry import Registry
from labkit.system import path_of

KEEPER_FILE = "keeper.json"
END_TIMEOUT_S = 10.0
FORBIDDEN_HINT = (
    "run it as root (sudo), or allow user namespaces:"
    " sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0"
)


@dataclass(frozen=True)
class Keeper:
    """The keeper's process id outside, and its start in clock ticks since the machine's own.

    Together they name a process for good; a process id alone is given out again.
    """

    pid: int
    started_ticks: int


def start_keeper(remember: Callable[[Keeper], None]) -> Keeper:
    """Make the namespaces and their keeper. It stays only if `remember` returns.

    Raises:
        LabError: this kernel does not let an ordinary user do that.
    """
    argv = [
        *(path_of("unshare"), "--user", "--map-root-user", "--net", "--mount", "--pid"),
        *("--fork", "--kill-child", "--", sys.executable, str(Path(inside.__file__).resolve())),
    ]
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A Ctrl-C is for `lab up`, which then ends the keeper in its own time.
        start_new_session=True,
    )
    stdin, stdout, stderr = (
        cast("IO[str]", pipe) for pipe in (process.stdin, process.stdout, process.stderr)
    )
    with stdin, stdout, stderr:
        word, _, pid = stdout.readline().strip().partition(" ")
        if word != inside.READY:
            reason = stderr.read().strip().splitlines()[-1:] or ["no reason given"]
            process.wait()
            raise LabError(
                f"this machine does not let ordinary users create namespaces: {reason[0]}",
                FORBIDDEN_HINT,
            )
        keeper = Keeper(int(pid), _started_ticks(int(pid)))
        remember(keeper)
        stdin.write("stay\n")
    return keeper


def is_alive(keeper: Keeper) -> bool:
    """Whether the keeper still runs."""
    try:
        return _started_ticks(keeper.pid) == keeper.started_ticks
    except OSError:
        return False


def end_keeper(keeper: Keeper) -> None:
    """End the keeper, and with it every process of its lab.

    Raises:
        LabError: it does not end.
    """
    deadline = time.monotonic() + END_TIMEOUT_S
    while is_alive(keeper):
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper.pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise LabError(f"process {keeper.pid} of the lab does not end")
        time.sleep(0.01)


def write_keeper(registry: Registry, lab: str, keeper: Keeper) -> None:
    """Keep in mind which keeper a lab has."""
    folder = registry.folder(lab)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / KEEPER_FILE).write_text(json.dumps(asdict(keeper)) + "\n")


def read_keeper(registry: Registry, lab: str) -> Keeper | None:
    """The keeper of a lab, None where it has none.

    Raises:
        LabError: the file is not what `write_keeper` writes.
    """
    path = registry.folder(lab) / KEEPER_FILE
    try:
        fields = json.loads(path.read_text())
        return Keeper(int(fields["pid"]), int(fields["started_ticks"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path} is not valid: {error}") from error


def _started_ticks(pid: int) -> int:
    """Field 22 of /proc/PID/stat (proc(5)); the name before it may hold anything but `)`."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    if after_name[0] == "Z":
        raise ProcessLookupError(pid)
    return int(after_name[19])
