"""Measurement round by round with a program that is started on the hosts for every pair.

A thread a pair; what the threads find out is handed on by the one that conducts the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from plink.probes.errors import HostError
from plink.probes.reach import ReachedHost
from plink.probes.samples import HostLoss, More, PairLoss, Rounds, Sink, Wanted, no_more
from plink.probes.suspicion import Suspicion

Reading = TypeVar("Reading")
Reading_co = TypeVar("Reading_co", covariant=True)

# A host that was silent to others is waited for so many times less.
TIMEOUT_DIVISOR = 4


@dataclass(frozen=True)
class Silence:
    """Result that no packet came through in one direction, in the tool's words."""

    reason: str


class Method(Protocol[Reading_co]):
    """Interface of a tool that measures one pair per call; thread-safe."""

    # What is said of a host that was silent to all others.
    silent_to_all: str

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Prepare all hosts; return by index why some cannot take part."""

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> Reading_co | Silence | PairLoss:
        """Measure one direction of a pair.

        Args:
            is_suspected: one of the two was silent to others, so that a short time-out will do.

        Raises:
            HostError: one of the two hosts is lost.
        """

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called, after which results of `measure` are meaningless."""

    def stop(self) -> None:
        """End everything that runs on the hosts."""


def measure_rounds(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    method: Method[Reading],
    sink: Sink[Reading],
    *,
    concurrency: int,
    ssh_concurrency: int,
    both_at_once: bool = False,
    more: More = no_more,
) -> None:
    """Measure the wanted directed pairs of the rounds; results go to `sink` as they come.

    Args:
        both_at_once: the two directions of a pair at the same time, else one after the other.
        more: further rounds, as long as there are any.
    """
    run = _RoundsRun(hosts, wanted, method, sink, both_at_once)
    try:
        for index, error in method.prepare(ssh_concurrency).items():
            run.lose_host(index, str(error))
        for pairs in rounds:
            run.measure_round(pairs, concurrency)
        run.name_the_silent()
        while further := more():
            for pairs in further:
                run.want(pairs)
                run.measure_round(pairs, concurrency)
    finally:
        run.stop()


@dataclass(frozen=True)
class _Direction(Generic[Reading]):
    """Outcome of one direction of a pair."""

    source: int
    destination: int
    outcome: Reading | Silence | PairLoss | HostError


@dataclass(frozen=True)
class _PairSettled:
    """Signal that both directions of a pair are settled or an unexpected error ended them."""

    error: BaseException | None


class _RoundsRun(Generic[Reading]):
    def __init__(
        self,
        hosts: Sequence[ReachedHost],
        wanted: Wanted,
        method: Method[Reading],
        sink: Sink[Reading],
        both_at_once: bool,
    ) -> None:
        self._hosts = hosts
        self._wanted = set(wanted)
        self._method = method
        self._sink = sink
        self._both_at_once = both_at_once
        self._said: SimpleQueue[_Direction[Reading] | _PairSettled] = SimpleQueue()
        self._lost: dict[int, str] = {}
        self._suspicion = Suspicion()
        self._suspected: set[int] = set()

    def measure_round(self, pairs: Sequence[tuple[int, int]], concurrency: int) -> None:
        """Measure a round of disjoint pairs and deliver the results."""
        both = [[p for p in ((i, j), (j, i)) if p in self._wanted] for i, j in pairs]
        owed = [directions for directions in both if directions]
        executor = ThreadPoolExecutor(max_workers=concurrency)
        try:
            for directions in owed:
                executor.submit(self._measure_pair, directions)
            pending = len(owed)
            while pending:
                said = self._said.get()
                if isinstance(said, _Direction):
                    self._deliver(said)
                    continue
                if said.error is not None:
                    raise said.error
                pending -= 1
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def want(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Mark both directions of these pairs as wanted."""
        self._wanted.update(direction for i, j in pairs for direction in ((i, j), (j, i)))

    def name_the_silent(self) -> None:
        """Report hosts that no other host could exchange packets with."""
        for index in self._suspicion.silent_to_all():
            self.lose_host(index, self._method.silent_to_all)

    def lose_host(self, index: int, reason: str) -> None:
        """Report once that a host no longer takes part."""
        if index not in self._lost:
            self._lost[index] = reason
            self._sink.host_lost(HostLoss(index, reason))

    def stop(self) -> None:
        """End running measurements and deliver finished ones."""
        self._method.stop()
        while True:
            try:
                said = self._said.get_nowait()
            except Empty:
                return
            if isinstance(said, _Direction):
                self._deliver(said)

    def _measure_pair(self, directions: Sequence[tuple[int, int]]) -> None:
        error: BaseException | None = None
        try:
            if self._both_at_once:
                # Both run even where one is known: alone, the other would have more.
                (i, j), *_ = directions
                with ThreadPoolExecutor(max_workers=2) as both:
                    list(both.map(self._measure, ((i, j), (j, i))))
            else:
                for direction in directions:
                    self._measure(direction)
        except Exception as unforeseen:
            error = unforeseen
        finally:
            self._said.put(_PairSettled(error))

    def _measure(self, direction: tuple[int, int]) -> None:
        if self._method.is_stopped:
            return
        outcome = self._outcome(*direction)
        if direction in self._wanted and not self._method.is_stopped:
            self._said.put(_Direction(*direction, outcome))

    def _outcome(self, source: int, destination: int) -> Reading | Silence | PairLoss | HostError:
        for end in (source, destination):
            if end in self._lost:
                reason = f"{self._hosts[end].name}: {self._lost[end]}"
                return PairLoss(source, destination, reason)
        is_suspected = bool(self._suspected & {source, destination})
        try:
            return self._method.measure(source, destination, is_suspected=is_suspected)
        except HostError as error:
            return error

    def _deliver(self, settled: _Direction[Reading]) -> None:
        source, destination, outcome = settled.source, settled.destination, settled.outcome
        if isinstance(outcome, PairLoss):
            self._sink.pair_lost(outcome)
        elif isinstance(outcome, Silence):
            self._suspected.update(self._suspicion.silence(source, destination))
            self._sink.pair_lost(PairLoss(source, destination, outcome.reason))
        elif isinstance(outcome, HostError):
            host = source if outcome.host == self._hosts[source].name else destination
            self.lose_host(host, str(outcome))
            reason = f"{outcome.host}: {outcome}"
            self._sink.pair_lost(PairLoss(source, destination, reason))
        else:
            self._suspicion.reading(source, destination)
            self._suspected -= {source, destination}
            self._sink.reading(outcome)
