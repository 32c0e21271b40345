"""Measurement of routes between hosts with trace workers."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from plink.probes.errors import OptionError, clean
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import OutputEnded
from plink.probes.samples import HostLoss, PairLoss, Rounds, RouteReading, Sink, Wanted
from plink.probes.suspicion import Suspicion
from plink.probes.trace.protocol import Ready, Said, Traced, TraceLimits, Unable, opening, request
from plink.probes.trace.route import Route, find_route
from plink.probes.trace.turns import PairTurns
from plink.probes.trace.workers import Workers, program

# The first of the ports that traceroute uses, which firewalls know.
DEFAULT_PORT = 33434
_HEAR_S = 1.0
# How long nothing may be heard of any worker beyond the time that a trace takes. Starting Python
# with scapy takes a second, and hosts may share processors.
_ANSWER_WITHIN_S = 15.0
# Answers that come later than this count for the next try.
_LEAST_WAIT_S = 0.1


@dataclass(frozen=True)
class TraceSettings:
    """Settings of tracing routes.

    Args:
        count: how often a hop that does not answer is probed.
        silence_s: after this time a destination that does not answer is given up.
        max_hops: how far to look.
        python: an interpreter with scapy, on the hosts.
        port: the UDP port of the probes, 0 for `DEFAULT_PORT`. Nothing should listen there.
    """

    count: int
    silence_s: float
    max_hops: int = 30
    python: str = "python3"
    port: int = 0

    @property
    def limits(self) -> TraceLimits:
        """Limits of the workers; all tries of a destination share the allowed silence."""
        wait_s = max(_LEAST_WAIT_S, self.silence_s / self.count)
        return TraceLimits(self.port or DEFAULT_PORT, self.max_hops, wait_s)


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: TraceSettings,
    sink: Sink[RouteReading],
    *,
    concurrency: int,
    ssh_concurrency: int = 16,
) -> None:
    """Trace the routes of the wanted directed pairs; results go to `sink` as they come.

    A host that cannot trace is still traced to. No worker is left on a host when this ends, or
    when this process does.

    Raises:
        OptionError: the hosts have IPv6 addresses.
    """
    for host in hosts:
        if ipaddress.ip_address(host.address).version != 4:
            raise OptionError(
                f"the tool trace supports only IPv4, but {host.name} has address {host.address}",
                "choose IPv4 addresses with network=NETWORK or interface=NAME",
            )
    with Workers(hosts, options.python) as workers:
        run = _TraceRun(hosts, PairTurns(wanted, rounds, 2 * concurrency), options, sink, workers)
        run.start(ssh_concurrency)
        run.conduct()


class _TraceRun:
    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        turns: PairTurns,
        options: TraceSettings,
        sink: Sink[RouteReading],
        workers: Workers,
    ) -> None:
        self._hosts = hosts
        self._turns = turns
        self._options = options
        self._sink = sink
        self._workers = workers
        self._limits = options.limits
        self._able = set(range(len(hosts)))
        self._starting = set(self._able)
        self._suspicion = Suspicion()
        self._suspected: set[int] = set()
        # By address, of whom a worker reports.
        self._index = {host.address: index for index, host in enumerate(hosts)}

    def start(self, concurrency: int) -> None:
        """Start a worker on every host."""
        source = program()
        openings = [opening(source, host.address, self._limits) for host in self._hosts]
        for index, error in self._workers.start(openings, concurrency):
            self._lose_host(index, str(error))

    def conduct(self) -> None:
        """Trace every route, from each host as soon as it is ready."""
        longest_s = self._limits.longest_s(self._options.count)
        # In turns of listening, not by the clock: this process may be stopped for a while.
        most_quiet_turns = (_ANSWER_WITHIN_S + longest_s) / _HEAR_S
        quiet = 0
        while self._starting or self._turns.running:
            said = self._workers.hear(_HEAR_S)
            if said is not None:
                quiet = 0
                self._take(*said)
            elif (quiet := quiet + 1) > most_quiet_turns:
                owing = self._starting | {source for source, _ in self._turns.running}
                for index in sorted(owing):
                    self._lose_host(index, "its trace worker does not answer")
            self._ask_next()
        for index in self._suspicion.silent_to_all():
            if index in self._able:
                self._sink.host_lost(HostLoss(index, "answers no probe of any host"))

    def _ask_next(self) -> None:
        for source, destination in self._turns.next():
            tries = 1 if destination in self._suspected else self._options.count
            self._workers.tell(source, request(self._hosts[destination].address, tries))

    def _take(self, index: int, said: Said | OutputEnded) -> None:
        if index not in self._able:
            return
        if isinstance(said, Ready) and index in self._starting:
            self._starting.discard(index)
            self._turns.admit(index)
        elif isinstance(said, (Unable, OutputEnded)):
            self._lose_host(index, said.reason)
        elif not isinstance(said, Traced) or not self._take_trace(index, said):
            self._lose_host(index, "its trace worker reports what it was not asked")

    def _take_trace(self, source: int, traced: Traced) -> bool:
        """Settle a directed pair; return False if it was not being traced."""
        destination = self._index.get(traced.destination)
        if destination is None or not self._turns.over(source, destination):
            return False
        host = self._hosts[destination]
        found = find_route(traced.answers, host.address, host.name)
        if isinstance(found, Route):
            self._suspicion.reading(source, destination)
            self._suspected -= {source, destination}
            self._sink.reading(RouteReading(source, destination, found.hops, found.routers))
            return True
        if found.is_silent:
            self._suspected.update(self._suspicion.silence(source, destination))
        self._sink.pair_lost(PairLoss(source, destination, found.reason))
        return True

    def _lose_host(self, index: int, reason: str) -> None:
        """Give up the traces from a lost host; others still trace to it."""
        if index not in self._able:
            return
        self._able.discard(index)
        self._starting.discard(index)
        self._workers.end(index)
        self._sink.host_lost(HostLoss(index, reason))
        for source, destination in self._turns.lose(index):
            why = clean(f"{self._hosts[source].name} {reason}")
            self._sink.pair_lost(PairLoss(source, destination, why))
