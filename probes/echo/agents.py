"""Coordinator's view of the agents of a run: one remote process and reader thread per host."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress

from plink.probes.echo.deploy import AgentProgram, deploy
from plink.probes.echo.protocol import EchoProtocolError, Event, parse_event
from plink.probes.errors import HostError, clean
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import LOST, OutputEnded, RemoteProcess
from plink.probes.remote.stall import StallGuard

_EXIT_WAIT_S = 2.0
_WRITE_WITHIN_S = 10.0
# An agent answers no line by more than two, such as a meeting by its result and its end; a few more
# say why it cannot go on.
_ANSWERS_PER_LINE = 2
_FURTHER_LINES = 4


class Agents:
    """Running agents on all hosts, with one queue for their messages.

    A context manager: leaving it ends every agent.

    Args:
        hosts: the hosts, in index order.
        agent: what runs on them.
        cache_folder: where the agent's file goes on the hosts, or None for the user's cache.
    """

    def __init__(
        self, hosts: Sequence[ReachedHost], agent: AgentProgram, cache_folder: str | None
    ) -> None:
        self._hosts = hosts
        self._agent = agent
        self._cache_folder = cache_folder
        self._processes: dict[int, RemoteProcess] = {}
        # Those for whose end nobody waits.
        self._given_up: set[int] = set()
        self._lines_told = [0] * len(hosts)
        self._stalls = StallGuard(_WRITE_WITHIN_S)
        self._readers: list[threading.Thread] = []
        self._said: queue.Queue[tuple[int, Event | OutputEnded]] = queue.Queue()

    def __enter__(self) -> Agents:
        return self

    def __exit__(self, *_: object) -> None:
        for index in list(self._processes):
            self.tell(index, "stop\n")
        deadline = time.monotonic() + _EXIT_WAIT_S
        for index, process in self._processes.items():
            if index not in self._given_up:
                process.wait_for_exit(max(0.0, deadline - time.monotonic()))
            with self._stalls.guard(process.abandon):
                process.close()
        self._stalls.stop()
        for reader in self._readers:
            reader.join(max(0.1, deadline - time.monotonic()))

    def start(self, concurrency: int) -> list[tuple[int, HostError]]:
        """Deploy and start an agent on every host, `concurrency` at a time; return the failures."""
        failures = []
        executor = ThreadPoolExecutor(max_workers=concurrency)
        try:
            # All are deployed before the first starts: an agent to which nobody speaks ends, and a
            # slow line may take minutes for the files of many hosts.
            deployed = [executor.submit(self._deploy_one, host) for host in self._hosts]
            wait(deployed)
            started = [
                executor.submit(self._start_one, host, command)
                for host, command in zip(self._hosts, deployed, strict=True)
            ]
            for index, future in enumerate(started):
                try:
                    self._listen(index, future.result())
                except HostError as error:
                    failures.append((index, error))
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
        return failures

    def _listen(self, index: int, process: RemoteProcess) -> None:
        self._processes[index] = process
        reader = threading.Thread(target=self._read, args=(index, process), daemon=True)
        reader.start()
        self._readers.append(reader)

    def give_up(self, index: int) -> None:
        """Expect nothing more of an agent, not even that it ends when it is told to."""
        self._given_up.add(index)

    def tell(self, index: int, text: str) -> None:
        """Send a line to one agent; its reader thread notices if the agent is gone."""
        process = self._processes[index]
        self._lines_told[index] += text.count("\n")
        # Its reader knows better why it is gone.
        with suppress(HostError), self._stalls.guard(process.abandon):
            process.write(text)

    def hear(self, timeout_s: float) -> tuple[int, Event | OutputEnded] | None:
        """Return the next message of any agent, or None after `timeout_s`."""
        try:
            return self._said.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None

    def _deploy_one(self, host: ReachedHost) -> str:
        return deploy(host, self._agent, self._cache_folder)

    def _start_one(self, host: ReachedHost, command: Future[str]) -> RemoteProcess:
        return host.session.start(command.result())

    def _read(self, index: int, process: RemoteProcess) -> None:
        try:
            for number, line in enumerate(process.lines(), start=1):
                if number > _ANSWERS_PER_LINE * self._lines_told[index] + _FURTHER_LINES:
                    raise EchoProtocolError("sends more messages than it was asked for")
                self._said.put((index, parse_event(line)))
            reason = clean(process.stderr_tail()) or "its echo agent ended"
        except (HostError, EchoProtocolError) as error:
            # The reason first: who speaks to it meanwhile notices only that it is gone.
            self._said.put((index, OutputEnded(str(error))))
            # Nothing more is taken from such a host, lest it fills our memory.
            process.abandon()
            return
        except OSError:
            reason = LOST
        self._said.put((index, OutputEnded(reason)))
