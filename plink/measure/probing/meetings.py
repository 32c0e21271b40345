"""Choice of the pairs of each round, in the first pass and in further ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from plink.base.progress import ProgressListener
from plink.files.cluster import Cluster
from plink.files.matrices import Matrix
from plink.files.measurements import FollowedSample, RoundSample, Sample
from plink.measure.probing.collectors import RunRecord
from plink.measure.probing.limits import FOLLOWED_ROUNDS
from plink.measure.probing.passes import Pair, Passes, PassOptions
from plink.measure.probing.request import ProbeRequest
from plink.measure.probing.rtt_collector import RttCollector
from plink.measure.probing.stopping_policy import NO_POLICY, StoppingPolicy
from plink.probes.options import RttOptions
from plink.probes.rounds import round_robin, rounds_in_all, sampled_rounds
from plink.probes.samples import Rounds, Wanted
from plink.solvers.sampling.sampler import next_rounds, usual_share

# More hosts, and the user is told what all rounds are.
_MANY_HOSTS = 256
_NO_ANSWER = object()


def chosen_sample(listed: int, rounds: int | None, seed: int) -> Sample | None:
    """Return the sample of rounds or pairs that a run measures; None for all rounds.

    Args:
        rounds: how many were asked for, None for all, `FOLLOWED_ROUNDS` for pairs that the readings
            ask for.
    """
    if rounds == FOLLOWED_ROUNDS:
        return FollowedSample(usual_share(listed), seed)
    in_all = rounds_in_all(listed)
    return None if rounds is None or rounds >= in_all else RoundSample(rounds, in_all, seed)


def rounds_among(listed: Sequence[str], present: Sequence[str], sample: Sample | None) -> Rounds:
    """Return the rounds of disjoint pairs that a run goes through.

    Args:
        listed: the names of all hosts that were listed. A sample is drawn of them, so that it is
            the same whichever of them can be reached.
        present: the names of those that take part, in the order of the list.
        sample: None for a tournament in which every two meet. Pairs that the readings ask for are
            not known before.

    Returns:
        rounds of pairs of indices in `present`, (lower, higher).
    """
    if sample is None:
        return round_robin(len(present))
    if isinstance(sample, FollowedSample):
        return []
    index = {name: i for i, name in enumerate(present)}
    places = [index.get(name) for name in listed]
    return [
        [
            (a, b)
            for a, b in ((places[i], places[j]) for i, j in pairs)
            if a is not None and b is not None
        ]
        for pairs in sampled_rounds(len(listed), sample.rounds, sample.seed)
    ]


def advice(hosts: int, sample: Sample | None, example: int) -> list[str]:
    """Return advice on sampling for users with many hosts, before the run begins; empty for few.

    Args:
        example: the number of rounds to speak of.
    """
    if sample is not None or hosts <= _MANY_HOSTS:
        return []
    rounds, pairs = rounds_in_all(hosts), hosts * (hosts - 1)
    fewer = example * (hosts - hosts % 2)
    text = f"all {rounds:,} rounds of {hosts:,} hosts are {pairs:,} directed pairs"
    followed = round(usual_share(hosts) * pairs)
    text += f"; rounds=auto measures at most {followed:,} of them, those that show groups"
    return [f"{text}, rounds={example} any {fewer:,}"]


class Following:
    """Adaptive sampler of a run: chooses pairs until the groups show or the budget is spent.

    Args:
        collector: takes what the run reads; what it holds already counts.
        sample: how many pairs at most.
    """

    def __init__(self, collector: RttCollector, sample: FollowedSample) -> None:
        self._collector = collector
        self._sample = sample
        self._tried = np.triu(np.isfinite(self._least_us()), 1)

    def next(self) -> Rounds:
        """Return the next rounds of pairs of the run's hosts; none if no more are needed."""
        rounds = next_rounds(
            self._least_us(),
            tried=self._tried,
            share=self._sample.share,
            seed=self._sample.seed,
        ).rounds
        for pairs in rounds:
            for pair in pairs:
                self._tried[pair] = True
        return rounds

    @property
    def pairs(self) -> Rounds:
        """Pairs that were tried or measured, in this run or an earlier one."""
        # A later pass may have read a pair that was not asked for here.
        known = self._tried | self._tried.T | np.isfinite(self._least_us())
        return [[(int(i), int(j)) for i, j in np.argwhere(np.triu(known, 1))]]

    def _least_us(self) -> Matrix:
        least = np.fmin(*self._collector.read_passes().halves_us)
        return np.fmin(least, least.T)


class Visits:
    """Source of a run's further rounds, pass after pass (`plink.probes.samples.More`).

    Args:
        collector: takes what the run reads.
        measured: of each host of the run its index in the cluster.
        rounds: rounds of pairs that the run is to measure.
        wanted: directions of them that the tool measures first.
        options: how often pairs meet.
        policy: what the readings are for.
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
        policy: StoppingPolicy = NO_POLICY,
        following: Following | None = None,
        on_pass: Callable[[int, int], None] = lambda _number, _directions: None,
    ) -> None:
        self._collector = collector
        self._index = {place: index for index, place in enumerate(measured)}
        self._before = collector.read_passes()
        self._options = options
        self._following = following
        self._is_following = following is not None
        self._rounds, self._wanted = rounds, wanted
        # Decided once the first pass is measured, or asked for what is due before it.
        self._passes: Passes | None = None
        self._policy = policy
        self._on_pass = on_pass
        self._answer: object | Hashable = _NO_ANSWER
        self._held: Rounds | None = None
        self._number = 1

    @property
    def is_due(self) -> bool:
        """Whether a second or later pass is needed before anything has been measured."""
        if self._held is None:
            self._held = self._next()
        return bool(self._held)

    def _begin_passes(self) -> Passes:
        """Return the passes over the pairs that have been measured so far."""
        rounds = self._rounds if self._following is None else self._following.pairs
        pairs = (pair for met in rounds for pair in met)
        return Passes(self._before, pairs, self._wanted, self._options)

    def more(self) -> Rounds:
        """Return further rounds of the first pass, or those of the next pass, if needed."""
        if self._following is not None and self._is_following:
            if rounds := self._following.next():
                self._wanted |= {way for met in rounds for i, j in met for way in ((i, j), (j, i))}
                self._on_pass(1, 2 * sum(map(len, rounds)))
                return rounds
            self._is_following = False
        rounds = self._next() if self._held is None else self._held
        self._held = None
        if rounds:
            self._collector.next_pass()
            self._on_pass(self._number, 2 * sum(map(len, rounds)))
        return rounds

    def _next(self) -> Rounds:
        if self._passes is None:
            self._passes = self._begin_passes()
        seen = self._collector.read_passes()
        # An answer may take long to find.
        cluster = None if self._passes.is_over(seen) else self._cluster()
        rounds = self._passes.next(
            seen, self._hinges(cluster), is_settled=self._is_settled(cluster)
        )
        self._number = self._passes.number
        return rounds

    def _cluster(self) -> Cluster | None:
        """Return the cluster as measured so far, or None if nobody asks for it."""
        if self._policy is NO_POLICY:
            return None
        return self._collector.result(RunRecord("", {}, None, 0.0, ()))[0]

    def _hinges(self, cluster: Cluster | None) -> list[Pair]:
        """Return the pairs on which the answer of the policy depends, in the run's indices."""
        if cluster is None:
            return []
        pairs = [
            (self._index[a], self._index[b])
            for a, b in self._policy.hinges(cluster)
            if a in self._index and b in self._index
        ]
        return sorted({(min(pair), max(pair)) for pair in pairs})

    def _is_settled(self, cluster: Cluster | None) -> bool:
        if cluster is None or self._policy.answer is None:
            return False
        before, self._answer = self._answer, self._policy.answer(cluster)
        return bool(before == self._answer)


def build_visits(
    request: ProbeRequest,
    options: RttOptions,
    collector: RttCollector,
    progress: ProgressListener,
    policy: StoppingPolicy,
    *,
    measured: Sequence[int],
    rounds: Rounds,
    wanted: Wanted,
    following: Following | None,
) -> Visits:
    """Return the source of further rounds that a request implies.

    A file from before there were passes keeps its readings as they are, unless more passes are
    asked for.

    Args:
        options: how the tool measures.
        progress: told of each pass.
        collector, policy, measured, rounds, wanted, following: as `Visits` has them.
    """
    before = None if request.earlier is None else request.earlier.rtt
    if before is not None and before.passes is None and not options.extra_passes:
        rounds = [[(min(pair), max(pair)) for pair in wanted]]
    return Visits(
        collector,
        measured,
        rounds,
        wanted,
        PassOptions(options.passes, options.precision_percent, options.extra_passes, request.seed),
        policy=policy,
        following=following,
        on_pass=lambda number, directions: progress.stage(f"pass {number}", directions),
    )
