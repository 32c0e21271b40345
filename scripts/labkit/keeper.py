"""The keeper of a lab without root: it holds the namespaces that the lab lives in.

It is the first process of a process namespace, so that its end is the end of every process of the
lab, and with them of all their namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

RUN = Path("/run")
NAMED_NAMESPACES = "netns"
MS_BIND = 4096
MS_REC = 16384

READY = "ready"

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Set the stage, say the own process id as the outside knows it, and wait for the end."""
    # /proc is still the outside's.
    own_pid = Path("/proc/self").readlink().name
    _mount("proc", Path("/proc"), kind="proc")
    _own_run_folder()
    print(READY, own_pid, flush=True)
    # An outside that died before it wrote our number down never says anything.
    if not sys.stdin.readline():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        signal.sigwait({signal.SIGCHLD})
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _own_run_folder() -> None:
    """Give `ip netns` a place of its own; everything else of /run stays visible."""
    outside = os.open(RUN, os.O_RDONLY)
    entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in os.scandir(RUN)]
    _mount("tmpfs", RUN, kind="tmpfs")
    for name, is_folder in entries:
        if name == NAMED_NAMESPACES:
            continue
        target = RUN / name
        # A socket or link that cannot be passed on is not worth failing for.
        with contextlib.suppress(OSError):
            if is_folder:
                target.mkdir()
            else:
                target.touch()
            _mount(f"/proc/self/fd/{outside}/{name}", target, flags=MS_BIND | MS_REC)
    os.close(outside)


def _mount(source: str, target: Path, kind: str | None = None, flags: int = 0) -> None:
    result = _libc.mount(
        source.encode(),
        str(target).encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        None,
    )
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"cannot mount on {target}: {os.strerror(error)}")


if __name__ == "__main__":
    try:
        main()
    except OSError as failure:
        sys.exit(str(failure.strerror))
