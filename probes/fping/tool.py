"""Measuring pairs with fping (ICMP echo), which needs to be installed on the hosts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from probes.errors import HostError
from probes.fping.parse import parse_report, percentile_us
from probes.reach import ReachedHost
from probes.samples import HostLoss, PairLoss, PairReading, Sink, Wanted
from probes.ssh.shell import posix_command
from probes.tournament import round_robin

_SET_PATH = "PATH=$PATH:/usr/sbin:/sbin; "
# fping allows users who are not root no shorter period between probes of one target.
_USER_PERIOD_MS = 10
_ROOT_PERIOD_MS = 1
_FIND = _SET_PATH + "fping --version >/dev/null && id -u"
_MEASURE = _SET_PATH + 'exec fping -q -r 0 -i 1 -C "$1" -p "$2" -t "$3" "$4"'


@dataclass(frozen=True)
class FpingOptions:
    """How fping measures: as `probes.echo.protocol.EchoOptions`, without the port."""

    count: int
    percentiles: Sequence[float]
    silence_s: float


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    options: FpingOptions,
    sink: Sink,
    *,
    concurrency: int,
) -> None:
    """Measure the wanted directed pairs in disjoint rounds; results go to `sink` as they come."""
    run = _Run(hosts, options, sink)
    with ThreadPoolExecutor(max_workers=concurrency) as executor:
        run.find_periods(executor)
        for pairs in round_robin(len(hosts)):
            both = [tuple(p for p in ((i, j), (j, i)) if p in wanted) for i, j in pairs]
            for directions in executor.map(run.measure_pair, both):
                for outcome in directions:
                    run.deliver(outcome)


@dataclass(frozen=True)
class _Failed:
    source: int
    destination: int
    error: HostError


class _Run:
    def __init__(self, hosts: Sequence[ReachedHost], options: FpingOptions, sink: Sink) -> None:
        self._hosts = hosts
        self._options = options
        self._sink = sink
        self._period_ms: dict[int, int] = {}
        self._lost: dict[int, str] = {}

    def find_periods(self, executor: ThreadPoolExecutor) -> None:
        for index, found in enumerate(executor.map(self._find_period, self._hosts)):
            if isinstance(found, HostError):
                self._lose_host(index, found)
            else:
                self._period_ms[index] = found

    def measure_pair(
        self, directions: Sequence[tuple[int, int]]
    ) -> list[PairReading | PairLoss | _Failed]:
        """Both directions of a pair, one after the other."""
        return [self._measure(source, destination) for source, destination in directions]

    def deliver(self, outcome: PairReading | PairLoss | _Failed) -> None:
        if isinstance(outcome, PairReading):
            self._sink.reading(outcome)
        elif isinstance(outcome, PairLoss):
            self._sink.pair_lost(outcome)
        else:
            self._lose_host(outcome.source, outcome.error)
            self._sink.pair_lost(PairLoss(outcome.source, outcome.destination, str(outcome.error)))

    def _lose_host(self, index: int, error: HostError) -> None:
        if index not in self._lost:
            self._lost[index] = str(error)
            self._sink.host_lost(HostLoss(index, str(error)))

    def _find_period(self, host: ReachedHost) -> int | HostError:
        try:
            done = host.session.run(posix_command(_FIND))
        except HostError as error:
            return error
        if done.status != 0:
            return HostError(host.name, "fping is not installed there", "apt-get install fping")
        return _ROOT_PERIOD_MS if done.stdout.strip() == b"0" else _USER_PERIOD_MS

    def _measure(self, source: int, destination: int) -> PairReading | PairLoss | _Failed:
        for end in (source, destination):
            if end in self._lost:
                reason = f"{self._hosts[end].name} {self._lost[end]}"
                return PairLoss(source, destination, reason)
        address = self._hosts[destination].address
        period_ms = self._period_ms[source]
        timeout_ms = round(self._options.silence_s * 1000)
        numbers = (self._options.count, period_ms, timeout_ms)
        command = posix_command(_MEASURE, *map(str, numbers), address)
        longest_s = self._options.count * (period_ms + timeout_ms) / 1000.0 + 30.0
        began = time.monotonic()
        try:
            done = self._hosts[source].session.run(command, timeout_s=longest_s)
        except HostError as error:
            return _Failed(source, destination, error)
        samples = parse_report(done.stderr, address)
        if samples is None:
            said = done.stderr.splitlines()[-1] if done.stderr else "nothing"
            return PairLoss(source, destination, f"fping said: {said}")
        echoes = [sample for sample in samples if sample is not None]
        if not echoes:
            seconds = time.monotonic() - began
            name = self._hosts[destination].name
            return PairLoss(source, destination, f"{name} answers no ping within {seconds:.0f} s")
        return PairReading(
            source=source,
            destination=destination,
            sent=len(samples),
            received=len(echoes),
            rtt_us={p: percentile_us(echoes, p) for p in self._options.percentiles},
        )
