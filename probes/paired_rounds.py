"""Measurement of pairs, round by round, by a program that is started for each directed pair.

Each pair has a thread; the thread that conducts the rounds delivers the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from plink.probes.errors import HostError
from plink.probes.remote.session import Running, for_each
from plink.probes.samples import HostLoss, MeasuringJob, PairLoss, Sink, Suspicion

Reading = TypeVar("Reading")
Reading_co = TypeVar("Reading_co", covariant=True)

# A host that was silent to others is waited for so many times less.
TIMEOUT_DIVISOR = 4


@dataclass(frozen=True)
class Silence:
    """Result of a directed pair in which no packet arrived, with the tool's message."""

    reason: str


@dataclass(frozen=True)
class TransientLoss:
    """Result of a directed pair that failed in a way that a second try may not.

    Args:
        loss: result of the pair if no second try succeeds.
    """

    loss: Silence | PairLoss


class PairProgram(Protocol[Reading_co]):
    """Interface of a tool that starts a program for each directed pair, such as fping.

    Its methods are called by several threads.
    """

    # What is said of a host that was silent to all others.
    silent_to_all: str

    @property
    def running(self) -> Running:
        """Processes that the program has running on hosts now, which `stop` ends."""

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Prepare all hosts, for example find the program; return the errors of hosts that fail."""

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> Reading_co | Silence | PairLoss | TransientLoss:
        """Run the program for a directed pair; return its reading, or that it was silent or lost.

        A pair whose result is a `TransientLoss` is measured once more.

        Args:
            is_suspected: one of the two was silent to others, so that a short time-out will do.
        """


def measure_rounds(
    job: MeasuringJob[Any],
    program: PairProgram[Reading],
    sink: Sink[Reading],
    *,
    both_at_once: bool = False,
) -> None:
    """Measure the wanted directed pairs of the rounds with a program; results go to `sink`.

    Nothing of the program is left on a host when this ends, or when this process does. The two
    directions of a pair follow each other, or run at the same time (`both_at_once`).
    """
    run = _RoundsRun(job, program, sink, both_at_once)
    try:
        for index, error in program.prepare(job.ssh_concurrency).items():
            run.lose_host(index, str(error))
        for pairs in job.rounds:
            run.measure_round(pairs)
        run.lose_silent_hosts()
        while further := job.more():
            for pairs in further:
                run.want(pairs)
                run.measure_round(pairs)
    finally:
        run.stop()


class _RoundsRun(Generic[Reading]):
    def __init__(
        self,
        job: MeasuringJob[Any],
        program: PairProgram[Reading],
        sink: Sink[Reading],
        both_at_once: bool,
    ) -> None:
        self._hosts = job.hosts
        self._concurrency = job.concurrency
        self._wanted = set(job.wanted)
        self._program = program
        self._sink = sink
        self._both_at_once = both_at_once
        # Source and destination, and what measuring yielded.
        self._results: SimpleQueue[
            tuple[int, int, Reading | Silence | PairLoss | TransientLoss | HostError]
        ] = SimpleQueue()
        # Why hosts are lost, known to the threads of all pairs at once.
        self._lost: dict[int, str] = {}
        self._reported: set[int] = set()
        self._suspicion = Suspicion()
        # Hosts whose last second try failed. Their pairs get no second try until one of them yields
        # a reading: waiting twice for each pair would take too long.
        self._failed_twice: set[int] = set()

    def measure_round(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Measure the wanted directions of a round's disjoint pairs and deliver the results."""
        both = [[p for p in ((i, j), (j, i)) if p in self._wanted] for i, j in pairs]
        owed = [directions for directions in both if directions]
        for _ in for_each(self._measure_pair, owed, self._concurrency):
            self._deliver_all()

    def want(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Add both directions of these pairs to those to be measured."""
        self._wanted.update(direction for i, j in pairs for direction in ((i, j), (j, i)))

    def lose_silent_hosts(self) -> None:
        for index in self._suspicion.silent_to_all():
            self.lose_host(index, self._program.silent_to_all)

    def lose_host(self, index: int, reason: str) -> None:
        """Report to the sink, once, that a host no longer takes part."""
        self._lost.setdefault(index, reason)
        if index not in self._reported:
            self._reported.add(index)
            self._sink.host_lost(HostLoss(index, reason))

    def stop(self) -> None:
        """End the measurements that are running, and deliver the results of those that finished."""
        self._program.running.stop()
        self._deliver_all()

    def _measure_pair(self, directions: Sequence[tuple[int, int]]) -> None:
        if self._both_at_once:
            # Both run even where one is known: alone, the other would have more.
            (i, j), *_ = directions
            self._measure([(i, j), (j, i)])
        else:
            for direction in directions:
                self._measure([direction])

    def _measure(self, directions: Sequence[tuple[int, int]]) -> None:
        """Measure directions at the same time, again if one fails, and queue the results.

        All are measured again: a direction whose opposite fails is alone, so that its rate is too
        high.
        """
        if self._program.running.is_stopped:
            return
        outcomes = dict(for_each(self._outcome, directions, len(directions)))
        has_failed = any(isinstance(outcome, TransientLoss) for outcome in outcomes.values())
        is_worth_it = self._failed_twice.isdisjoint(directions[0])
        if has_failed and is_worth_it and not self._program.running.is_stopped:
            for direction, second in for_each(self._outcome, directions, len(directions)):
                first = outcomes[direction]
                if not isinstance(second, (Silence, PairLoss, TransientLoss)):
                    outcomes[direction] = second
                elif isinstance(second, TransientLoss):
                    self._failed_twice.update(direction)
                elif isinstance(first, TransientLoss):
                    outcomes[direction] = first.loss
        # Readings first: they clear marks of their hosts, which failures set.
        for direction, outcome in sorted(outcomes.items(), key=lambda item: _is_loss(item[1])):
            # The host of a HostError is lost, whether or not the direction is wanted.
            is_wanted = direction in self._wanted or isinstance(outcome, HostError)
            # What stopping the programs brings about is no loss.
            if is_wanted and not (_is_loss(outcome) and self._program.running.is_stopped):
                self._results.put((*direction, outcome))

    def _outcome(
        self, direction: tuple[int, int]
    ) -> Reading | Silence | PairLoss | TransientLoss | HostError:
        source, destination = direction
        for end in direction:
            if end in self._lost:
                reason = f"{self._hosts[end].name}: {self._lost[end]}"
                return PairLoss(source, destination, reason)
        is_suspected = not self._suspicion.suspected.isdisjoint(direction)
        try:
            return self._program.measure(source, destination, is_suspected=is_suspected)
        except HostError as error:
            self._lost.setdefault(self._find_failed_end(error, source, destination), str(error))
            return error

    def _find_failed_end(self, error: HostError, source: int, destination: int) -> int:
        return source if error.host == self._hosts[source].name else destination

    def _deliver_all(self) -> None:
        with suppress(Empty):
            while True:
                self._deliver(*self._results.get_nowait())

    def _deliver(
        self,
        source: int,
        destination: int,
        outcome: Reading | Silence | PairLoss | TransientLoss | HostError,
    ) -> None:
        if isinstance(outcome, TransientLoss):
            self._failed_twice |= {source, destination}
            outcome = outcome.loss
        if isinstance(outcome, PairLoss):
            self._sink.pair_lost(outcome)
        elif isinstance(outcome, Silence):
            self._suspicion.silence(source, destination)
            self._sink.pair_lost(PairLoss(source, destination, outcome.reason))
        elif isinstance(outcome, HostError):
            self.lose_host(self._find_failed_end(outcome, source, destination), str(outcome))
            if (source, destination) in self._wanted:
                reason = f"{outcome.host}: {outcome}"
                self._sink.pair_lost(PairLoss(source, destination, reason))
        else:
            self._suspicion.reading(source, destination)
            self._failed_twice -= {source, destination}
            self._sink.reading(outcome)


def _is_loss(outcome: object) -> bool:
    return isinstance(outcome, (Silence, PairLoss, TransientLoss, HostError))
