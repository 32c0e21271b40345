"""Choice of the pairs to measure, round by round: samples, repeated passes and when to stop.

Noise only ever adds to a round-trip time, and comes in spells that outlast a meeting: the least of
a few short meetings, far apart in time and between other neighbours each, is nearer to the truth
than one long meeting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.base.lazy import lazy_imports
from plink.formats.cluster import Cluster
from plink.formats.matrices import Counts, Matrix
from plink.formats.measurements import (
    FollowedSample,
    Measurement,
    RoundSample,
    Sample,
    disagreement,
)
from plink.measure.probing.collectors import PassReadings, RttCollector
from plink.measure.probing.tools import FOLLOWED_ROUNDS
from plink.probes.options import RttOptions
from plink.probes.rounds import count_rounds, find_round, round_robin, sample_rounds
from plink.probes.samples import Rounds, Wanted

with lazy_imports():
    from plink.solvers.sampling import sampler

Pair = tuple[int, int]
Mask = npt.NDArray[np.bool_]

# So often every pair meets, unless one meeting is all that is asked for.
WHOLE_PASSES = 2
# All passes after those together are at most so large a share of whole ones, or so many meetings.
_SHARE_OF_FURTHER = 1.0 / 3.0
_ALWAYS_ALLOWED = 8
# Both directions of a pair go the same way there and back: where they differ by more than this
# share, one of them was measured at bad moments only.
_MOST_APART = 0.1
# The urgency of what comes before any disagreement.
_OWED, _HINGE = 2e9, 1e9


class Passes:
    """Chooser of the pairs that each pass after the first measures again.

    Every pair meets twice. Then those meet again whose passes disagree, the most disagreeing first,
    and those that the caller names; no pair more often than the options' `passes`, and all of them
    together at most a third of that, so that the default is three meetings a pair.

    Args:
        before: what earlier runs have seen.
        pairs: (lower, higher) that the run is to measure, met before or not.
        first: directions of them that are measured in the run's first pass.
        seed: decides which pairs are measured close together in time.
    """

    def __init__(
        self,
        before: PassReadings,
        pairs: Iterable[Pair],
        first: Wanted,
        options: RttOptions,
        seed: int,
    ) -> None:
        size = len(before.passes)
        self._options = options
        self._seed = seed
        self._scope = np.zeros((size, size), dtype=np.bool_)
        for pair in pairs:
            self._scope[pair] = True
        had = np.minimum(before.passes, before.passes.T)
        whole = min(WHOLE_PASSES, options.passes)
        self._goal = np.maximum(had + options.extra_passes, whole)
        # No pair meets more often than that in this run.
        self._limit = options.passes - (
            had if options.precision_percent == 0.0 else np.minimum(had, whole)
        )
        if options.extra_passes:
            self._limit[had >= whole] = options.extra_passes
        self._met = np.zeros((size, size), dtype=np.int64)
        # Met in this run, if only to measure one direction.
        self._is_tried = np.zeros((size, size), dtype=np.bool_)
        for i, j in first:
            self._is_tried[min(i, j), max(i, j)] = True
            self._met[min(i, j), max(i, j)] = (j, i) in first
        # A doubtful reading may be measured again however often it was.
        self._limit = np.maximum(self._limit, self._met)
        share = 1.0 if options.precision_percent == 0.0 else _SHARE_OF_FURTHER
        further = self._scope.sum() * max(0, options.passes - WHOLE_PASSES) * share
        # Meetings that are left beside those that every pair is owed.
        self._left = max(_ALWAYS_ALLOWED, int(further))
        self.number = 1

    def is_over(self, seen: PassReadings) -> bool:
        """Return whether no pair may be measured again within the options' limits."""
        is_lost = self._is_tried & (np.minimum(seen.passes, seen.passes.T) == 0)
        may_be_tried_twice = self.number + 1 == WHOLE_PASSES <= self._options.passes
        may = np.triu(self._met < self._limit, 1) & ~is_lost
        return not may_be_tried_twice and not may.any()

    def next(
        self, seen: PassReadings, hinges: Collection[Pair] = (), *, is_settled: bool = False
    ) -> Rounds:
        """Choose the pairs of the next pass, as rounds of disjoint pairs; none if the run is done.

        Args:
            hinges: pairs (lower, higher) on which an answer hinges, met before or not.
            is_settled: the answer no longer changes, so that pairs which disagree may.
        """
        self.number += 1
        size = len(seen.passes)
        count = np.minimum(seen.passes, seen.passes.T)
        is_lost = self._is_tried & (count == 0)
        may = np.triu(self._met < self._limit, 1) & ~is_lost
        owed = may & self._scope & (count < self._goal)
        urgency = np.zeros((size, size))
        if not is_settled:
            is_own = self._scope | self._is_tried
            urgency = np.where(may & ~owed & is_own, self._disagreement(seen), 0.0)
            for pair in hinges:
                if may[pair] and not owed[pair]:
                    urgency[pair] += _HINGE
            # The pairs most in need of measuring, as many as the budget allows.
            order = np.argsort(-urgency, axis=None, kind="stable")
            urgency.flat[order[self._left :]] = 0.0
            self._left -= int(np.count_nonzero(urgency))
        urgency[owed | self._list_retries(is_lost & self._scope, count)] = _OWED
        chosen = np.argwhere(urgency > 0.0)
        self._met[urgency > 0.0] += 1
        self._is_tried |= urgency > 0.0
        pairs = [(int(i), int(j)) for i, j in chosen]
        return arrange_rounds(size, pairs, (self._seed, self.number))

    def _disagreement(self, seen: PassReadings) -> Matrix:
        """Return the share by which a pair's passes or directions differ, (N, N); 0 if small."""
        share = disagreement(seen.halves_us)
        share = np.nan_to_num(np.fmax(share, share.T))
        if self._options.precision_percent == 0.0:
            return np.triu(share + 1.0, 1)
        least = np.fmin(*seen.halves_us)
        apart = np.nan_to_num(np.fmax(least, least.T) / np.fmin(least, least.T) - 1.0, posinf=1.0)
        is_apart = (apart > _MOST_APART) & self._is_tried
        is_unsure = share > self._options.precision_percent / 100.0
        return np.triu(np.where(is_unsure | is_apart, np.fmax(share, apart), 0.0), 1)

    def _list_retries(self, lost: Mask, count: Counts) -> Mask:
        """Return a mask (N, N) of pairs lost in the first pass whose hosts others could reach.

        That is where both hosts were heard by others, and at most as many as there are hosts: a
        silent one is waited for.
        """
        again = np.zeros(lost.shape, dtype=np.bool_)
        if self.number == WHOLE_PASSES and self._options.passes >= WHOLE_PASSES:
            heard: Mask = np.asarray((count > 0).any(axis=1))
            worth = np.argwhere(lost & heard[:, None] & heard[None, :])[: len(lost)]
            again[tuple(worth.T)] = True
        return again


def arrange_rounds(hosts: int, pairs: Iterable[Pair], seed: tuple[int, int]) -> Rounds:
    """Arrange pairs into rounds of disjoint pairs in random order, as the seed determines.

    They are those of a round robin in which each host has a seat by chance, so that a pair's
    neighbours in time are others each time.
    """
    chance = np.random.default_rng(seed)
    seat = chance.permutation(hosts)
    rounds: dict[int, list[Pair]] = {}
    for i, j in pairs:
        rounds.setdefault(find_round(hosts, (int(seat[i]), int(seat[j]))), []).append((i, j))
    numbers = sorted(rounds)
    return [
        [rounds[numbers[k]][m] for m in chance.permutation(len(rounds[numbers[k]]))]
        for k in chance.permutation(len(numbers))
    ]


@dataclass(frozen=True)
class StoppingPolicy:
    """Policy that names pairs to measure again, and stops a run when its answer is stable.

    Args:
        hinges: after each pass, the pairs of the cluster's hosts (indices, in any order) on which
            the answer hinges, measured or not: they meet again.
        answer: after each pass, the answer so far: once it is the same twice, nothing more is
            measured. None where readings are wanted for their own sake.
    """

    hinges: Callable[[Cluster], Collection[Pair]] = lambda _: ()
    answer: Callable[[Cluster], Hashable] | None = None


NO_POLICY = StoppingPolicy()


# More hosts, and the user is told what all rounds are.
_MANY_HOSTS = 256
_NO_ANSWER = object()


def choose_sample(listed: int, rounds: int | None, seed: int) -> Sample | None:
    """Return which rounds or pairs of the round-robin tournament a run measures; None for all.

    Args:
        rounds: as `ProbeRequest.rounds`.
    """
    if rounds == FOLLOWED_ROUNDS:
        return FollowedSample(sampler.usual_share(listed), seed)
    in_all = count_rounds(listed)
    return None if rounds is None or rounds >= in_all else RoundSample(rounds, in_all, seed)


def list_rounds(listed: Sequence[str], present: Sequence[str], sample: Sample | None) -> Rounds:
    """Return the rounds of disjoint pairs to measure; none if the readings choose the pairs.

    Args:
        listed: names of all hosts that were listed. A sample is drawn of them, so that it is the
            same whichever of them can be reached.
        present: names of those that take part, in the order of the list.
        sample: None for a tournament in which every two meet.
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
        for pairs in sample_rounds(len(listed), sample.rounds, sample.seed)
    ]


def advise_sampling(hosts: int, sample: Sample | None, example: int) -> list[str]:
    """Return advice to measure fewer pairs, if all pairs of over 256 hosts are to be measured."""
    if sample is not None or hosts <= _MANY_HOSTS:
        return []
    rounds, pairs = count_rounds(hosts), hosts * (hosts - 1)
    fewer = example * (hosts - hosts % 2)
    text = f"all {rounds:,} rounds of {hosts:,} hosts are {pairs:,} directed pairs"
    followed = round(sampler.usual_share(hosts) * pairs)
    text += f"; automatic rounds measure at most {followed:,} of them, those that show groups"
    return [f"{text}, and {example} rounds any {fewer:,}"]


class AdaptiveSampler:
    """Sampler that chooses pairs by the readings so far, until groups show or its budget ends."""

    def __init__(self, collector: RttCollector, sample: FollowedSample) -> None:
        self._collector = collector
        self._sample = sample
        self._tried = np.triu(np.isfinite(self._find_least_us()), 1)

    def next(self) -> Rounds:
        """Return the next rounds of disjoint pairs to measure; none if no more are needed."""
        rounds = sampler.next_rounds(
            self._find_least_us(),
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
        """Pairs of host indices that were tried or measured in any run, as a single round."""
        # A later pass may have read a pair that was not asked for here.
        known = self._tried | self._tried.T | np.isfinite(self._find_least_us())
        return [[(int(i), int(j)) for i, j in np.argwhere(np.triu(known, 1))]]

    def _find_least_us(self) -> Matrix:
        least = np.fmin(*self._collector.read_passes().halves_us)
        return np.fmin(least, least.T)


class FurtherRounds:
    """Source of the rounds that a measuring tool runs after its first ones, pass after pass.

    Args:
        following: chooses further pairs for the first pass; None where `rounds` are all.
        on_pass: told of each further pass: its number, and of how many directions it is.
    """

    def __init__(
        self,
        collector: RttCollector,
        measured: Sequence[int],
        rounds: Rounds,
        wanted: Wanted,
        options: RttOptions,
        *,
        seed: int,
        policy: StoppingPolicy = NO_POLICY,
        following: AdaptiveSampler | None = None,
        on_pass: Callable[[int, int], None] = lambda _number, _directions: None,
    ) -> None:
        self._collector = collector
        self._index = {place: index for index, place in enumerate(measured)}
        self._before = collector.read_passes()
        self._options = options
        self._seed = seed
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
        """Whether earlier readings alone call for another pass, before this run measures any."""
        if self._held is None:
            self._held = self._next()
        return bool(self._held)

    def more(self) -> Rounds:
        """Return further rounds to measure, of the same or the next pass; none at the end."""
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
            met = self._rounds if self._following is None else self._following.pairs
            pairs = (pair for pairs in met for pair in pairs)
            self._passes = Passes(self._before, pairs, self._wanted, self._options, self._seed)
        seen = self._collector.read_passes()
        cluster = None
        # An answer may take long to find.
        if self._policy is not NO_POLICY and not self._passes.is_over(seen):
            cluster, _ = self._collector.result(Measurement(tool=""))
        rounds = self._passes.next(
            seen, self._list_decisive_pairs(cluster), is_settled=self._is_settled(cluster)
        )
        self._number = self._passes.number
        return rounds

    def _list_decisive_pairs(self, cluster: Cluster | None) -> list[Pair]:
        """Return the pairs of host indices that the policy wants measured again for its answer."""
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
