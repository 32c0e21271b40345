"""The passes of a run: what tools ask for further rounds, from what the collector has seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from plink.base.progress import Progress
from plink.files.cluster import Cluster
from plink.measure.probing.adapters.base import ToolOptions
from plink.measure.probing.collectors.base import Collector, Run
from plink.measure.probing.collectors.rtt import RttCollector
from plink.measure.probing.following import Following
from plink.measure.probing.passes import Pair, Passes, PassOptions
from plink.measure.probing.question import NO_QUESTION, Question
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.resume import recorded_passes
from probes.samples import Rounds, Wanted

_NO_ANSWER = object()


class Visits:
    """Further rounds of a run, one pass after the other (`probes.samples.More`).

    Args:
        collector: takes what the run reads.
        measured: of each host of the run its index in the cluster.
        rounds: of pairs that the run is to measure.
        wanted: directions of them that the tool measures first.
        options: how often pairs meet.
        question: what the readings are for.
        following: chooses further pairs for the first pass; None where `rounds` are all.
        on_pass: told of each further pass: its number, and of how many directions it is.
    """

    def __init__(
        self,
        collector: RttCollector,
        measured: Sequence[int],
        rounds: Rounds,
        wanted: Wanted,
        options: PassOptions,
        *,
        question: Question = NO_QUESTION,
        following: Following | None = None,
        on_pass: Callable[[int, int], None] = lambda _number, _directions: None,
    ) -> None:
        self._collector = collector
        self._index = {place: index for index, place in enumerate(measured)}
        self._before = collector.seen()
        self._options = options
        self._following = following
        self._is_following = following is not None
        self._rounds, self._wanted = rounds, wanted
        self._passes = self._begun()
        self._question = question
        self._on_pass = on_pass
        self._answer: object | Hashable = _NO_ANSWER
        self._held: Rounds | None = None

    @property
    def is_due(self) -> bool:
        """Whether a pass beyond the first is due already, before anything is measured."""
        if self._held is None:
            self._held = self._next()
        return bool(self._held)

    def _begun(self) -> Passes:
        """The passes over the pairs that are known to be measured by now."""
        rounds = self._rounds if self._following is None else self._following.pairs
        pairs = (pair for met in rounds for pair in met)
        return Passes(self._before, pairs, self._wanted, self._options)

    def more(self) -> Rounds:
        """More rounds of the first pass, or those of the next one; none when that is enough."""
        if self._following is not None and self._is_following:
            if rounds := self._following.next():
                self._wanted |= {way for met in rounds for i, j in met for way in ((i, j), (j, i))}
                self._on_pass(1, 2 * sum(map(len, rounds)))
                return rounds
            self._is_following = False
            if self._held is None:
                self._passes = self._begun()
        rounds = self._next() if self._held is None else self._held
        self._held = None
        if rounds:
            self._collector.next_pass()
            self._on_pass(self._passes.number, 2 * sum(map(len, rounds)))
        return rounds

    def _next(self) -> Rounds:
        cluster = self._cluster()
        return self._passes.next(
            self._collector.seen(), self._hinges(cluster), is_settled=self._is_settled(cluster)
        )

    def _cluster(self) -> Cluster | None:
        """The cluster as it is measured so far, where somebody asks for it."""
        if self._question is NO_QUESTION:
            return None
        return self._collector.result(Run("", {}, None, 0.0, ()))[0]

    def _hinges(self, cluster: Cluster | None) -> list[Pair]:
        """The pairs in the run's indices; those whose hosts did not take part are left out."""
        if cluster is None:
            return []
        pairs = [
            (self._index[a], self._index[b])
            for a, b in self._question.hinges(cluster)
            if a in self._index and b in self._index
        ]
        return sorted({(min(pair), max(pair)) for pair in pairs})

    def _is_settled(self, cluster: Cluster | None) -> bool:
        if cluster is None or self._question.answer is None:
            return False
        before, self._answer = self._answer, self._question.answer(cluster)
        return bool(before == self._answer)


def visits_of(
    request: ProbeRequest,
    options: ToolOptions,
    collector: Collector[Any],
    progress: Progress,
    question: Question,
    *,
    measured: Sequence[int],
    rounds: Rounds,
    wanted: Wanted,
    following: Following | None,
) -> Visits | None:
    """The passes of a run as it was asked for; None where the tool's readings need none.

    A file from before there were passes keeps its readings as they are, unless the request says
    how many passes it wants.

    Args:
        options: how the tool measures.
        progress: told of each pass.
        collector, question, measured, rounds, wanted, following: as `Visits` has them.
    """
    if not isinstance(collector, RttCollector):
        return None
    before = None if request.earlier is None else request.earlier.rtt
    extra = 0
    if before is not None:
        recorded = recorded_passes(before.options)
        if request.passes is not None:
            extra = max(0, request.passes - (recorded or 1))
        elif before.passes is None:
            rounds = [[(min(pair), max(pair)) for pair in wanted]]
    return Visits(
        collector,
        measured,
        rounds,
        wanted,
        PassOptions(options.passes, options.precision_percent, extra, request.seed),
        question=question,
        following=following,
        on_pass=lambda number, directions: progress.stage(f"pass {number}", directions),
    )
