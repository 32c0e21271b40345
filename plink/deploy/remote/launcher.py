"""Running of a launcher such as mpirun on this machine, ending its ranks on time-out or Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from plink.base.errors import PlinkError
from plink.base.interrupts import defer_interrupts, ignore_interrupts

_VERSION_LIMIT_S = 30.0
_TERMINATE_LIMIT_S = 10.0
_KILL_LIMIT_S = 5.0


@dataclass(frozen=True)
class LauncherExit:
    """Exit status and output of a launcher that ended by itself."""

    status: int
    stdout: str
    stderr: str


def version_text(launcher: str) -> str:
    """Return the output of a launcher, such as mpirun, called with `--version`.

    Raises:
        PlinkError: it cannot be run.
    """
    try:
        done = subprocess.run(
            [launcher, "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlinkError(f"{launcher} cannot be run: {error}") from None
    return done.stdout


def run_launcher(
    command: Sequence[str], limit_s: float, environment: Mapping[str, str] | None = None
) -> LauncherExit | None:
    """Run a launcher until it ends; after `limit_s` seconds end it and return None.

    An exception, Ctrl-C above all, ends it too, whatever interrupts follow. `environment` is added
    to this process's.

    Raises:
        PlinkError: it cannot be started.
    """
    process: subprocess.Popen[str] | None = None
    try:
        # Else an interrupt could come between its start and its name, and leave it running.
        with defer_interrupts():
            process = _start(command, environment)
        stdout, stderr = process.communicate(timeout=limit_s)
    except BaseException as error:
        if process is not None:
            _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            return None
        raise
    return LauncherExit(process.returncode, stdout, stderr)


def _start(command: Sequence[str], environment: Mapping[str, str] | None) -> subprocess.Popen[str]:
    try:
        # Its own process group: Ctrl-C reaches plink alone, which then ends the launcher.
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            env=None if environment is None else {**os.environ, **environment},
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlinkError(f"the launcher cannot be started: {reason}") from None


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a launcher to end its ranks; kill it if it has not after 10 seconds."""
    with ignore_interrupts():
        process.terminate()
        try:
            process.communicate(timeout=_TERMINATE_LIMIT_S)
        except subprocess.TimeoutExpired:
            # What holds the pipes may be a child that the launcher has left behind.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_KILL_LIMIT_S)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILL_LIMIT_S)
