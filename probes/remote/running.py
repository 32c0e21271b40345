"""Registry of running remote processes, so that all can be ended at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from plink.probes.remote.session import RemoteProcess, Session


class Running:
    """Running remote processes on all hosts; thread-safe."""

    def __init__(self) -> None:
        self._processes: set[RemoteProcess] = set()
        self._is_stopped = False
        self._lock = threading.Lock()

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called, after which the processes' output is meaningless."""
        return self._is_stopped

    def stop(self) -> None:
        """End all processes."""
        with self._lock:
            self._is_stopped = True
            processes = list(self._processes)
        for process in processes:
            process.close()

    @contextmanager
    def start(
        self, session: Session, command: str, timeout_s: float = 30.0
    ) -> Iterator[RemoteProcess]:
        """Yield a process that is closed at the end of the block.

        Raises:
            HostError: as `Session.start`.
        """
        process = session.start(command, timeout_s)
        with self._lock:
            self._processes.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._processes.discard(process)
            process.close()
