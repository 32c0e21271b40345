"""Measuring the bandwidth of pairs with iperf3, which needs to be installed on the hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from probes.errors import HostError
from probes.iperf3.commands import TransferOptions
from probes.iperf3.ends import find_ends
from probes.iperf3.parse import received_gbit_s
from probes.iperf3.transfers import End, TransferError, Transfers
from probes.reach import ReachedHost
from probes.samples import BandwidthReading, HostLoss, PairLoss, Rounds, Sink, Wanted
from probes.suspicion import Suspicion

# TCP needs a while to find its rate, and the queues on the way to fill: the first part of a test
# does not count.
WARM_UP_SHARE = 0.2
# A host that was silent to others is waited for so many times less.
_IMPATIENCE = 4


@dataclass(frozen=True)
class Iperf3Options:
    """How iperf3 measures pairs.

    Args:
        test: what is the same for all tests.
        both_at_once: the two directions of a pair at the same time, else one after the other.
        port: where servers listen; 0 for any that is free.
    """

    test: TransferOptions
    both_at_once: bool = False
    port: int = 0


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: Iperf3Options,
    sink: Sink[BandwidthReading],
    *,
    concurrency: int,
    ssh_concurrency: int = 16,
) -> None:
    """Measure the wanted directed pairs of the rounds; results go to `sink` as they come.

    No iperf3 is left on a host when this ends, or when this process does.
    """
    run = _Run(hosts, options, sink)
    try:
        run.find_ends(ssh_concurrency)
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
    """All directions of a pair are settled, or an unforeseen error ended them."""

    error: BaseException | None


_Outcome = BandwidthReading | PairLoss | _Silent | _Failed


class _Run:
    def __init__(
        self, hosts: Sequence[ReachedHost], options: Iperf3Options, sink: Sink[BandwidthReading]
    ) -> None:
        self._hosts = hosts
        self._options = options
        self._sink = sink
        self._transfers = Transfers(options.test, options.port)
        self._said: SimpleQueue[_Outcome | _Over] = SimpleQueue()
        self._ends: Mapping[int, End] = {}
        self._lost: dict[int, str] = {}
        self._suspicion = Suspicion()
        self._suspected: set[int] = set()

    def find_ends(self, concurrency: int) -> None:
        """Learn which hosts have iperf3."""
        self._ends, failures = find_ends(self._hosts, concurrency)
        for index, error in failures.items():
            self._lose_host(index, str(error))

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
        """Name the hosts that nobody could exchange anything with."""
        for index in self._suspicion.silent_to_all():
            self._lose_host(index, "exchanges no data with any host")

    def stop(self) -> None:
        """End what still runs, and hand on what ended before."""
        self._transfers.stop()
        while True:
            try:
                outcome = self._said.get_nowait()
            except Empty:
                return
            if not isinstance(outcome, _Over):
                self._deliver(outcome)

    def _measure_pair(self, wanted: Sequence[tuple[int, int]]) -> None:
        error: BaseException | None = None
        try:
            for outcome in self._outcomes(wanted):
                if self._transfers.is_stopped:
                    return
                if (outcome.source, outcome.destination) in wanted:
                    self._said.put(outcome)
        except Exception as unforeseen:
            error = unforeseen
        finally:
            self._said.put(_Over(error))

    def _outcomes(self, wanted: Sequence[tuple[int, int]]) -> Iterator[_Outcome]:
        if not self._options.both_at_once:
            yield from (self._measure(*direction) for direction in wanted)
            return
        # Both run even where one is known: alone, the other would have more.
        (i, j), *_ = wanted
        with ThreadPoolExecutor(max_workers=2) as both:
            yield from both.map(self._measure, (i, j), (j, i))

    def _deliver(self, outcome: _Outcome) -> None:
        source, destination = outcome.source, outcome.destination
        if isinstance(outcome, BandwidthReading):
            self._suspicion.reading(source, destination)
            self._suspected -= {source, destination}
            self._sink.reading(outcome)
        elif isinstance(outcome, PairLoss):
            self._sink.pair_lost(outcome)
        elif isinstance(outcome, _Silent):
            self._suspected.update(self._suspicion.silence(source, destination))
            self._sink.pair_lost(PairLoss(source, destination, "no data come through"))
        else:
            failed = outcome.error
            host = source if failed.host == self._hosts[source].name else destination
            self._lose_host(host, str(failed))
            reason = f"{failed.host}: {failed}"
            self._sink.pair_lost(PairLoss(source, destination, reason))

    def _lose_host(self, index: int, reason: str) -> None:
        if index not in self._lost:
            self._lost[index] = reason
            self._sink.host_lost(HostLoss(index, reason))

    def _measure(self, source: int, destination: int) -> _Outcome:
        for end in (source, destination):
            if end in self._lost:
                reason = f"{self._hosts[end].name}: {self._lost[end]}"
                return PairLoss(source, destination, reason)
        impatience = _IMPATIENCE if self._suspected & {source, destination} else 1
        try:
            report = self._transfers.run(
                self._ends[source], self._ends[destination], impatience=impatience
            )
        except TransferError as error:
            if error.is_silence:
                return _Silent(source, destination)
            return PairLoss(source, destination, str(error))
        except HostError as error:
            return _Failed(source, destination, error)
        gbit_s = received_gbit_s(report, WARM_UP_SHARE * self._options.test.duration_s)
        if not gbit_s:
            return _Silent(source, destination)
        return BandwidthReading(source, destination, gbit_s, report.retransmits)
