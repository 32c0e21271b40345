"""Faults of the programs that were started on a lab's host over SSH. Each returns its remedy."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from labkit.errors import LabError
from labkit.namespaces import processes_in
from labkit.state import State
from labkit.wiring import namespace

APPEARS_WITHIN_S = 10.0
# A slow host's programs run for one such span, and stand still for three.
_SPAN_S = 0.01


def programs_on(state: State, host: str) -> list[int]:
    """The processes on a host, except `sshd` and its shells."""
    return [pid for pid in processes_in([namespace(state.name, host)]) if not _is_sshd(pid)]


def kill(state: State, host: str) -> Callable[[], None]:
    """Kill them, once there are any."""
    _signal(_await_programs(state, host), signal.SIGKILL)
    return _nothing


def freeze(state: State, host: str, seconds: float | None = None) -> Callable[[], None]:
    """Stop them, once there are any; for a while only where `seconds` is given."""
    frozen = _await_programs(state, host)
    _signal(frozen, signal.SIGSTOP)
    if seconds is None:
        return lambda: _signal(frozen, signal.SIGCONT)
    time.sleep(seconds)
    _signal(frozen, signal.SIGCONT)
    return _nothing


def slow_down(state: State, host: str) -> Callable[[], None]:
    """Let them run a quarter of the time, as on a host that is busy with other work."""
    is_over = threading.Event()
    slowing = threading.Thread(target=_alternate, args=(state, host, is_over), daemon=True)
    slowing.start()

    def remedy() -> None:
        is_over.set()
        slowing.join()

    return remedy


def cut_ssh(state: State, host: str) -> Callable[[], None]:
    """Kill the servers of the present SSH sessions; new ones are welcome."""
    sessions = [
        pid
        for pid in processes_in([namespace(state.name, host)])
        if _is_sshd(pid) and b"[listener]" not in _command_line(pid)
    ]
    _signal(sessions, signal.SIGKILL)
    return _nothing


def _alternate(state: State, host: str, is_over: threading.Event) -> None:
    while not is_over.is_set():
        found = programs_on(state, host)
        _signal(found, signal.SIGSTOP)
        time.sleep(3 * _SPAN_S)
        _signal(found, signal.SIGCONT)
        time.sleep(_SPAN_S)


def _await_programs(state: State, host: str) -> list[int]:
    """The programs on a host, once there are any.

    Raises:
        LabError: there are none.
    """
    deadline = time.monotonic() + APPEARS_WITHIN_S
    while not (found := programs_on(state, host)) and time.monotonic() < deadline:
        time.sleep(0.005)
    if not found:
        raise LabError(f"nothing was started on {host} within {APPEARS_WITHIN_S:g} s")
    return found


def _is_sshd(pid: int) -> bool:
    return _command_line(pid).startswith((b"sshd", b"/usr/sbin/sshd"))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _nothing() -> None:
    pass
