"""The daemon of a tuned job, as a process beside it: `plink autotune`, or a program of ours."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchkit.programs import program, told
from labkit.bound import BOUND
from plink.autotune.log import records
from plink.autotune.log.records import Entry


@dataclass(frozen=True)
class Daemon:
    """A running `plink autotune`.

    Args:
        environment: that ranks need to find it.
        log: what it has measured and decided.
    """

    environment: Mapping[str, str]
    log: Path

    def entries(self) -> list[Entry]:
        """What stands in the log by now."""
        return list(records.read(str(self.log))[1]) if self.log.exists() else []


@contextmanager
def autotuning(
    plan: Path, address: str, log: Path, prefix: Sequence[str] = (), *, is_quiet: bool = False
) -> Iterator[Daemon]:
    """Start `plink autotune` for one job; end it at the end.

    Args:
        plan: with which the job begins.
        address: to listen on.
        log: is written anew.
        prefix: what takes a command line to where the daemon runs.
        is_quiet: drop what it says while it runs.

    Raises:
        SystemExit: it did not start.
    """
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "plink", "autotune", "serve", str(plan)]
    command += ["--listen", f"{address}:0", "--log", str(log)]
    with _process([*prefix, *command], is_quiet=is_quiet) as process:
        words = shlex.split(_first_line(process))
        yield Daemon(dict(word.split("=", 1) for word in words if "=" in word), log)


@contextmanager
def own_daemon(
    name: str, task: Mapping[str, Any], prefix: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a program of this folder that calls `serving.serve`; end it at the end.

    Args:
        name: of the program.
        task: for it, as its first line.
        prefix: what takes a command line to where the daemon runs.

    Returns:
        The process, and the port at which it listens.

    Raises:
        SystemExit: it did not start.
    """
    with _process([*prefix, *program(name)], is_quiet=False) as process:
        print(json.dumps(task), file=process.stdin, flush=True)
        yield process, int(_first_line(process))


@contextmanager
def _process(command: Sequence[str], *, is_quiet: bool) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*BOUND, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if is_quiet else None,
        text=True,
        cwd="/",
        # Ctrl-C is for us alone.
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _first_line(process: subprocess.Popen[str]) -> str:
    line = told(process)
    if not line:
        raise SystemExit("the daemon did not start")
    return line
