"""Measurement of routes between hosts with trace workers, one on every host."""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from plink.probes import samples
from plink.probes.errors import HostError, OptionError, clean
from plink.probes.options import TRACE_PORT, TraceOptions
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import HostPrograms, OutputEnded, RemoteProcess
from plink.probes.trace import protocol

# Read as text, never imported: scapy belongs to the hosts.
_PROGRAM = Path(__file__).parent / "worker.py"
_EXIT_WAIT_S = 2.0
# Exit statuses of a shell that finds no program, or may not run it.
_NO_PROGRAM = (126, 127)
_HEAR_S = 1.0
# How long nothing may be heard of any worker beyond the time that a trace takes. Python with scapy
# starts in a second, and in twenty where many hosts share busy processors.
_ANSWER_WITHIN_S = 40.0
# Answers that come later than this count for the next try.
_LEAST_WAIT_S = 0.1

Direction = tuple[int, int]


def measure(
    job: samples.MeasuringJob[TraceOptions], sink: samples.Sink[samples.RouteReading]
) -> None:
    """Trace the routes of the wanted directed pairs of hosts; results go to `sink`.

    A host that cannot trace is still traced to. No worker is left on a host when this ends, or
    when this process does.

    Raises:
        OptionError: the hosts have IPv6 addresses.
    """
    for host in job.hosts:
        if ipaddress.ip_address(host.address).version != 4:
            raise OptionError(
                f"the tool trace supports only IPv4, but {host.name} has address {host.address}",
                "choose IPv4 addresses by a network or the name of an interface",
                ["network", "interface"],
            )
    with Workers(job.hosts, job.options.remote_python) as workers:
        run = _TraceRun(job, sink, workers)
        run.start(job.ssh_concurrency)
        run.conduct()


def read_worker_program() -> str:
    """Return the source text of the trace worker's program."""
    return _PROGRAM.read_text(encoding="ascii")


class PairTurns:
    """Queue of directed pairs to trace, one at a time from each source host.

    Unlike round-trip times, routes are not disturbed by other probes: a host may be the destination
    of one trace while it is busy with its own, and a source that is slow holds up nobody. Nor is
    it waited for: a source takes part from when it is admitted.
    """

    def __init__(self, wanted: samples.Wanted, rounds: samples.Rounds, most: int) -> None:
        self._waiting: dict[int, deque[int]] = {}
        for pairs in rounds:
            for i, j in pairs:
                for source, destination in ((i, j), (j, i)):
                    if (source, destination) in wanted:
                        self._waiting.setdefault(source, deque()).append(destination)
        self._free: deque[int] = deque()
        self._most = most
        self.running: set[Direction] = set()

    def admit(self, source: int) -> None:
        """Record that a source host's worker is ready to trace."""
        if source in self._waiting:
            self._free.append(source)

    def next(self) -> list[Direction]:
        """Return the directed pairs to trace now, and count them as running."""
        begun = []
        while self._free and len(self.running) < self._most:
            source = self._free.popleft()
            if self._waiting[source]:
                begun.append((source, self._waiting[source].popleft()))
                self.running.add(begun[-1])
        return begun

    def over(self, source: int, destination: int) -> bool:
        """Record that a pair's trace has ended; return False if it was not running."""
        if (source, destination) not in self.running:
            return False
        self.running.remove((source, destination))
        self._free.append(source)
        return True

    def lose(self, source: int) -> Iterable[Direction]:
        """Drop the waiting and running pairs of a lost source host, and return them."""
        lost = [pair for pair in self.running if pair[0] == source]
        lost += [(source, destination) for destination in self._waiting.pop(source, ())]
        self.running.difference_update(lost)
        self._free = deque(other for other in self._free if other != source)
        return lost


class Workers(HostPrograms[protocol.WorkerMessage]):
    """Running trace workers, one on each host of a run."""

    def __init__(self, hosts: Sequence[ReachedHost], python: str) -> None:
        super().__init__([host.session for host in hosts])
        self._python = python

    def start(self, openings: Sequence[str], concurrency: int) -> dict[int, HostError]:
        """Start a trace worker on every host, `concurrency` at a time; return failures by index."""
        command = protocol.start_command(self._python)
        failures = self.start_programs(dict.fromkeys(range(len(openings)), command), concurrency)
        for index in self._processes:
            self.send(index, openings[index])
        return failures

    def parse(self, line: str) -> protocol.WorkerMessage:
        """Parse a line of a trace worker's output into a message."""
        return protocol.parse_message(line, self._python)

    def explain_end(self, process: RemoteProcess) -> str:
        """Return why a trace worker has ended by itself: no Python, or its last error line."""
        try:
            if process.wait_for_exit(_EXIT_WAIT_S) in _NO_PROGRAM:
                return f"it has no {self._python}: name another remote Python"
        except HostError as error:
            return process.stderr_tail() or str(error)
        return process.stderr_tail() or "its trace worker ended"

    def end(self, index: int) -> None:
        """End the trace worker on a host."""
        if index in self._processes:
            self._processes[index].close()


class _TraceRun:
    def __init__(
        self,
        job: samples.MeasuringJob[TraceOptions],
        sink: samples.Sink[samples.RouteReading],
        workers: Workers,
    ) -> None:
        self._hosts = job.hosts
        self._turns = PairTurns(job.wanted, job.rounds, 2 * job.concurrency)
        self._options = job.options
        self._sink = sink
        self._workers = workers
        # All tries fit into the allowed silence.
        wait_s = max(_LEAST_WAIT_S, job.timeout_s / job.options.count)
        port = job.options.port or TRACE_PORT
        self._limits = protocol.TraceLimits(port, job.options.max_hops, wait_s)
        self._able = set(range(len(job.hosts)))
        self._starting = set(self._able)
        self._suspicion = samples.Suspicion()
        # By address, of whom a worker reports.
        self._index = {host.address: index for index, host in enumerate(job.hosts)}

    def start(self, concurrency: int) -> None:
        """Start the trace workers on all hosts, and give up hosts where that fails."""
        source = read_worker_program()
        openings = [protocol.opening(source, host.address, self._limits) for host in self._hosts]
        for index, error in self._workers.start(openings, concurrency).items():
            self._lose_host(index, str(error))

    def conduct(self) -> None:
        """Trace all pairs, from each host as soon as its worker is ready, until none is left."""
        longest_s = self._limits.longest_s(self._options.count)
        # In turns of listening, not by the clock: this process may be stopped for a while.
        most_quiet_turns = (_ANSWER_WITHIN_S + longest_s) / _HEAR_S
        quiet = 0
        while self._starting or self._turns.running:
            message = self._workers.receive(_HEAR_S)
            if message is not None:
                quiet = 0
                self._take(*message)
            elif (quiet := quiet + 1) > most_quiet_turns:
                owing = self._starting | {source for source, _ in self._turns.running}
                for index in sorted(owing):
                    self._lose_host(index, "its trace worker does not answer")
            self._ask_next()
        for index in self._suspicion.silent_to_all():
            if index in self._able:
                self._sink.host_lost(samples.HostLoss(index, "answers no probe of any host"))

    def _ask_next(self) -> None:
        for source, destination in self._turns.next():
            tries = 1 if destination in self._suspicion.suspected else self._options.count
            self._workers.send(source, protocol.request(self._hosts[destination].address, tries))

    def _take(self, index: int, message: protocol.WorkerMessage | OutputEnded) -> None:
        if index not in self._able:
            return
        if isinstance(message, protocol.Ready) and index in self._starting:
            self._starting.discard(index)
            self._turns.admit(index)
        elif isinstance(message, (protocol.Unable, OutputEnded)):
            self._lose_host(index, message.reason)
        elif not isinstance(message, protocol.Traced) or not self._take_trace(index, message):
            self._lose_host(index, "its trace worker reports what it was not asked")

    def _take_trace(self, source: int, traced: protocol.Traced) -> bool:
        """Record a trace's route or loss; return False if the pair was not being traced."""
        destination = self._index.get(traced.destination)
        if destination is None or not self._turns.over(source, destination):
            return False
        host = self._hosts[destination]
        route = protocol.find_route(traced.answers, host.address, host.name)
        if isinstance(route, protocol.Route):
            self._suspicion.reading(source, destination)
            self._sink.reading(samples.RouteReading(source, destination, route.hops, route.routers))
            return True
        if route.is_silent:
            self._suspicion.silence(source, destination)
        self._sink.pair_lost(samples.PairLoss(source, destination, route.reason))
        return True

    def _lose_host(self, index: int, reason: str) -> None:
        """Give up a host as a source of traces; others go on tracing to it."""
        if index not in self._able:
            return
        self._able.discard(index)
        self._starting.discard(index)
        self._workers.end(index)
        self._sink.host_lost(samples.HostLoss(index, reason))
        for source, destination in self._turns.lose(index):
            why = clean(f"{self._hosts[source].name}: {reason}")
            self._sink.pair_lost(samples.PairLoss(source, destination, why))
