"""Coordinator's view of the trace workers of a run: one remote process and reader per host."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from pathlib import Path

from plink.probes.errors import HostError
from plink.probes.reach import ReachedHost
from plink.probes.remote import parallel
from plink.probes.remote.session import LOST, OutputEnded, RemoteProcess
from plink.probes.trace.protocol import Said, TraceProtocolError, parse_said, start_command

# Read as text, never imported: scapy belongs to the hosts.
_PROGRAM = Path(__file__).parent / "worker.py"
_EXIT_WAIT_S = 2.0
# Exit statuses of a shell that finds no program, or may not run it.
_NO_PROGRAM = (126, 127)


def program() -> str:
    """Return the source text of a worker."""
    return _PROGRAM.read_text(encoding="ascii")


class Workers:
    """Running workers on all hosts, with one queue for their messages.

    A context manager: leaving it ends every worker.

    Args:
        hosts: the hosts, in index order.
        python: the interpreter there.
    """

    def __init__(self, hosts: Sequence[ReachedHost], python: str) -> None:
        self._hosts = hosts
        self._python = python
        self._processes: dict[int, RemoteProcess] = {}
        self._said: queue.Queue[tuple[int, Said | OutputEnded]] = queue.Queue()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.close()

    def start(self, openings: Sequence[str], concurrency: int) -> list[tuple[int, HostError]]:
        """Start a worker on every host, `concurrency` at a time; return the failures.

        Args:
            openings: what the worker of each host is told first.
            concurrency: hosts worked on at once.
        """
        command = start_command(self._python)

        def start(index: int) -> RemoteProcess:
            return self._hosts[index].session.start(command)

        failures = []
        for index, outcome in parallel.each(start, range(len(self._hosts)), concurrency):
            if isinstance(outcome, HostError):
                failures.append((index, outcome))
                continue
            self._processes[index] = outcome
            self.tell(index, openings[index])
            threading.Thread(target=self._read, args=(index, outcome), daemon=True).start()
        return sorted(failures, key=lambda failure: failure[0])

    def tell(self, index: int, text: str) -> None:
        """Send a line to one worker; its reader thread notices if the worker is gone."""
        try:
            self._processes[index].write(text)
        except HostError:
            return

    def hear(self, timeout_s: float) -> tuple[int, Said | OutputEnded] | None:
        """Return the next message of any worker, or None after `timeout_s`."""
        try:
            return self._said.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def end(self, index: int) -> None:
        """End one worker."""
        if index in self._processes:
            self._processes[index].close()

    def _read(self, index: int, process: RemoteProcess) -> None:
        try:
            for line in process.lines():
                self._said.put((index, parse_said(line, self._python)))
            reason = self._why(process)
        except (HostError, TraceProtocolError) as error:
            reason = str(error)
        except OSError:
            reason = LOST
        self._said.put((index, OutputEnded(reason)))

    def _why(self, process: RemoteProcess) -> str:
        if process.wait_for_exit(_EXIT_WAIT_S) in _NO_PROGRAM:
            return f"it has no {self._python}: name another Python with remote_python=PATH"
        return process.stderr_tail() or "its trace worker ended"
