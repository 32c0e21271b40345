"""Measuring pairs with fping (ICMP echo), which needs to be installed on the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from probes.errors import HostError, clean
from probes.fping.parse import parse_report, percentile_us
from probes.fping.pings import Pings, find_period_ms
from probes.reach import ReachedHost
from probes.samples import HostLoss, PairLoss, Rounds, RttReading, Sink, Wanted
from probes.suspicion import Suspicion

# A host that was silent to others is tried with one probe and less patience.
_IMPATIENCE = 4


@dataclass(frozen=True)
class FpingOptions:
    """How fping measures: as `probes.echo.protocol.EchoOptions`, without the port."""

    count: int
    percentiles: Sequence[float]
    silence_s: float


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: FpingOptions,
    sink: Sink[RttReading],
    *,
    concurrency: int,
    ssh_concurrency: int = 16,
) -> None:
    """Measure the wanted directed pairs of the rounds; results go to `sink` as they come.

    No fping is left on a host when this ends, or when this process does.
    """
    run = _Run(hosts, options, sink)
    try:
        run.find_periods(ssh_concurrency)
        for pairs in rounds:
            both = [[p for p in ((i, j), (j, i)) if p in wanted] for i, j in pairs]
            run.measure_round([directions for directions in both if directions], concurrency)
        run.name_the_silent()
    finally:
        run.stop()


@dataclass(frozen=True)
class _Silent:
    source: int
    destination: int


@dataclass(frozen=True)
class _Failed:
    source: int
    destination: int
    error: HostError


@dataclass(frozen=True)
class _Over:
    """Both directions of a pair are settled, or an unforeseen error ended them."""

    error: BaseException | None


_Outcome = RttReading | PairLoss | _Silent | _Failed


class _Run:
    def __init__(
        self, hosts: Sequence[ReachedHost], options: FpingOptions, sink: Sink[RttReading]
    ) -> None:
        self._hosts = hosts
        self._options = options
        self._sink = sink
        self._pings = Pings()
        self._said: SimpleQueue[_Outcome | _Over] = SimpleQueue()
        self._period_ms: dict[int, int] = {}
        self._lost: dict[int, str] = {}
        self._suspicion = Suspicion()
        self._suspected: set[int] = set()

    def find_periods(self, concurrency: int) -> None:
        """Learn how often every host may send."""
        executor = ThreadPoolExecutor(max_workers=concurrency)
        try:
            asked = [executor.submit(find_period_ms, host.session) for host in self._hosts]
            for index, answer in enumerate(asked):
                try:
                    self._period_ms[index] = answer.result()
                except HostError as error:
                    self._lose_host(index, str(error))
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def measure_round(self, pairs: Sequence[list[tuple[int, int]]], concurrency: int) -> None:
        """Measure disjoint pairs, each in the directions given, and hand on what they yield."""
        executor = ThreadPoolExecutor(max_workers=concurrency)
        try:
            for directions in pairs:
                executor.submit(self._measure_pair, directions)
            pending = len(pairs)
            while pending:
                outcome = self._said.get()
                if not isinstance(outcome, _Over):
                    self._deliver(outcome)
                    continue
                if outcome.error is not None:
                    raise outcome.error
                pending -= 1
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def name_the_silent(self) -> None:
        """Name the hosts that nobody heard."""
        for index in self._suspicion.silent_to_all():
            self._lose_host(index, "answers no ping of any host")

    def stop(self) -> None:
        """End what still runs, and hand on what ended before."""
        self._pings.stop()
        while True:
            try:
                outcome = self._said.get_nowait()
            except Empty:
                return
            if not isinstance(outcome, _Over):
                self._deliver(outcome)

    def _measure_pair(self, directions: Sequence[tuple[int, int]]) -> None:
        error: BaseException | None = None
        try:
            for source, destination in directions:
                outcome = self._measure(source, destination)
                if self._pings.is_stopped:
                    return
                self._said.put(outcome)
        except Exception as unforeseen:
            error = unforeseen
        finally:
            self._said.put(_Over(error))

    def _deliver(self, outcome: _Outcome) -> None:
        source, destination = outcome.source, outcome.destination
        if isinstance(outcome, RttReading):
            self._suspicion.reading(source, destination)
            self._suspected -= {source, destination}
            self._sink.reading(outcome)
        elif isinstance(outcome, PairLoss):
            self._sink.pair_lost(outcome)
        elif isinstance(outcome, _Silent):
            self._suspected.update(self._suspicion.silence(source, destination))
            reason = f"{self._hosts[destination].name} answers no ping"
            self._sink.pair_lost(PairLoss(source, destination, reason))
        else:
            self._lose_host(source, str(outcome.error))
            self._sink.pair_lost(PairLoss(source, destination, str(outcome.error)))

    def _lose_host(self, index: int, reason: str) -> None:
        if index not in self._lost:
            self._lost[index] = reason
            self._sink.host_lost(HostLoss(index, reason))

    def _measure(self, source: int, destination: int) -> _Outcome:
        for end in (source, destination):
            if end in self._lost:
                reason = f"{self._hosts[end].name} {self._lost[end]}"
                return PairLoss(source, destination, reason)
        timeout_ms = max(1, round(self._options.silence_s * 1000))
        try:
            if self._suspected & {source, destination}:
                trial = self._ping(source, destination, 1, max(1, timeout_ms // _IMPATIENCE))
                if not isinstance(trial, RttReading):
                    return trial
            return self._ping(source, destination, self._options.count, timeout_ms)
        except HostError as error:
            return _Failed(source, destination, error)

    def _ping(self, source: int, destination: int, count: int, timeout_ms: int) -> _Outcome:
        address = self._hosts[destination].address
        said = self._pings.run(
            self._hosts[source].session,
            address,
            count,
            period_ms=self._period_ms[source],
            timeout_ms=timeout_ms,
        )
        samples = parse_report(said, address, count)
        if samples is None:
            last = said.strip().splitlines()[-1:] or ["nothing"]
            return PairLoss(source, destination, clean(f"fping said: {last[0]}"))
        echoes = [sample for sample in samples if sample is not None]
        if not echoes:
            return _Silent(source, destination)
        return RttReading(
            source=source,
            destination=destination,
            sent=count,
            received=len(echoes),
            rtt_us={p: percentile_us(echoes, p) for p in self._options.percentiles},
        )
