"""Network namespaces: entering them, their settings, and the processes that live in them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from labkit.errors import LabError

FOLDER = Path("/run/netns")
CLONE_NEWNET = 0x40000000
KILL_TIMEOUT_S = 10.0

_libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """Be in a network namespace for a while: this thread, and the programs it starts."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        target = os.open(FOLDER / namespace, os.O_RDONLY)
        try:
            _enter(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _enter(own)
    finally:
        os.close(own)


def configure(setting: str, value: str) -> None:
    """Write a network setting such as `ipv4/tcp_congestion_control` of the present namespace."""
    Path("/proc/sys/net", setting).write_text(value)


def configure_if_known(setting: str, value: str) -> None:
    """The same for a setting that some kernels lack."""
    with contextlib.suppress(FileNotFoundError):
        configure(setting, value)


def processes_in(namespaces: Iterable[str]) -> list[int]:
    """The processes, other than this one, that live in any of the namespaces."""
    wanted = set()
    for name in namespaces:
        with contextlib.suppress(FileNotFoundError):
            status = (FOLDER / name).stat()
            wanted.add((status.st_dev, status.st_ino))
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            status = Path(entry.path, "ns/net").stat()
            if (status.st_dev, status.st_ino) in wanted:
                found.append(int(entry.name))
    return found


def end_processes_in(namespaces: list[str]) -> None:
    """Kill every process that lives in the namespaces, and see them gone.

    Raises:
        LabError: some do not end.
    """
    deadline = time.monotonic() + KILL_TIMEOUT_S
    while remaining := processes_in(namespaces):
        if time.monotonic() > deadline:
            raise LabError(f"processes {remaining} of the lab do not end")
        for pid in remaining:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        error = ctypes.get_errno()
        raise LabError(f"cannot enter a network namespace: {os.strerror(error)}")
