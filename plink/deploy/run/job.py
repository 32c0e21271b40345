"""All ranks of a job: started, their output passed on, ended together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plink.base.interrupts import ignored_interrupts
from plink.deploy.run.lines import LineSplitter
from probes.errors import HostError
from probes.ssh.session import RemoteProcess, Session

# Remote ranks get 5 s after SIGTERM.
_END_LIMIT_S = 7.0
_STATUS_LIMIT_S = 5.0


@dataclass(frozen=True)
class Ended:
    """How a rank ended: its exit status, or why there is none."""

    rank: int
    host: str
    status: int | None
    reason: str | None = None

    @property
    def is_failure(self) -> bool:
        """Whether the job has failed with it."""
        return self.status != 0


def run_job(
    sessions: Sequence[Session],
    commands: Sequence[str],
    on_line: Callable[[int, str], None],
) -> Ended | None:
    """Run a command for every rank until all have ended, or one has failed.

    An exception, Ctrl-C above all, ends all of them.

    Args:
        sessions: of the host of each rank.
        commands: of each rank (`command.rank_command`).
        on_line: called with a rank and a line of its output, from one thread at a time.

    Returns:
        The first rank that failed, None where none did.

    Raises:
        HostError: a rank could not be started.
    """
    lock = threading.Lock()
    ended: queue.Queue[Ended] = queue.Queue()
    processes: list[RemoteProcess] = []
    threads: list[threading.Thread] = []

    def pass_on(rank: int, line: str) -> None:
        with lock:
            on_line(rank, line)

    try:
        for rank, (session, command) in enumerate(zip(sessions, commands, strict=True)):
            process = session.start(command)
            processes.append(process)
            thread = threading.Thread(
                target=lambda *given: ended.put(_follow(*given)),
                args=(rank, process, pass_on),
                daemon=True,
            )
            threads.append(thread)
            thread.start()
        for _ in processes:
            first = ended.get()
            if first.is_failure:
                return first
        return None
    finally:
        with ignored_interrupts():
            _end(processes, threads)


def _follow(rank: int, process: RemoteProcess, pass_on: Callable[[int, str], None]) -> Ended:
    splitter = LineSplitter()
    try:
        for chunk in process.chunks():
            for line in splitter.feed(chunk):
                pass_on(rank, line)
        for line in splitter.end():
            pass_on(rank, line)
        status = process.wait_for_exit(_STATUS_LIMIT_S)
    except (HostError, OSError) as error:
        return Ended(rank, process.host, None, str(error))
    if status is None or status < 0:
        return Ended(rank, process.host, None, "was killed, or the connection was lost")
    return Ended(rank, process.host, status)


def _end(processes: Sequence[RemoteProcess], threads: Sequence[threading.Thread]) -> None:
    """Close every rank's input, which ends it, and wait until they are gone."""
    for process in processes:
        process.end_input()
    for thread in threads:
        thread.join(_END_LIMIT_S)
    for process in processes:
        process.close()
