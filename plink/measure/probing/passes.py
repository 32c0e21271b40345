"""Several passes over the pairs of a run: which pairs meet again, and in what order. Pure.

Noise only ever adds to a round-trip time, and comes in spells that outlast a meeting: the least of
a few short meetings, far apart in time and between other neighbours each, is nearer to the truth
than one long meeting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.files.matrices import Counts, Matrix
from plink.files.measurements import disagreement
from plink.probes.rounds import round_of
from plink.probes.samples import Rounds, Wanted

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


@dataclass(frozen=True)
class PassOptions:
    """Limits of repeated passes: number of passes and precision at which a pair is done.

    Args:
        most: passes, at least 1.
        precision_percent: a pair whose passes disagree by no more is left alone; 0 for all passes
            of all pairs.
        extra: whole passes beside those that pairs had before the run.
        seed: decides which pairs are measured close together in time.
    """

    most: int
    precision_percent: float
    extra: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Seen:
    """Readings of earlier passes between N hosts.

    Args:
        passes: (N, N) how often a direction was read.
        halves_us: (N, N) each, the least reading of its odd passes and of its even ones.
    """

    passes: Counts
    halves_us: tuple[Matrix, Matrix]


class Passes:
    """Choice of the pairs that meet after the first pass of a run.

    Every pair meets twice. Then those meet again whose passes disagree, the most disagreeing first,
    and those that the caller names; no pair more often than `most`, and all of them together at
    most a third of that, so that the default is three meetings a pair.

    Args:
        before: what earlier runs have seen.
        pairs: (lower, higher) that the run is to measure, met before or not.
        first: directions of them that are measured in the run's first pass.
    """

    def __init__(
        self, before: Seen, pairs: Iterable[Pair], first: Wanted, options: PassOptions
    ) -> None:
        size = len(before.passes)
        self._options = options
        self._scope = np.zeros((size, size), dtype=np.bool_)
        for pair in pairs:
            self._scope[pair] = True
        had = np.minimum(before.passes, before.passes.T)
        whole = min(WHOLE_PASSES, options.most)
        self._goal = np.maximum(had + options.extra, whole)
        # No pair meets more often than that in this run.
        self._limit = options.most - (
            had if options.precision_percent == 0.0 else np.minimum(had, whole)
        )
        if options.extra:
            self._limit[had >= whole] = options.extra
        self._met = np.zeros((size, size), dtype=np.int64)
        # Met in this run, if only to measure one direction.
        self._is_tried = np.zeros((size, size), dtype=np.bool_)
        for i, j in first:
            self._is_tried[min(i, j), max(i, j)] = True
            self._met[min(i, j), max(i, j)] = (j, i) in first
        # A doubtful reading may be measured again however often it was.
        self._limit = np.maximum(self._limit, self._met)
        self._left = self._further_meetings()
        self.number = 1

    def _further_meetings(self) -> int:
        pairs = int(np.count_nonzero(self._scope))
        share = 1.0 if self._options.precision_percent == 0.0 else _SHARE_OF_FURTHER
        further = pairs * max(0, self._options.most - WHOLE_PASSES) * share
        return max(_ALWAYS_ALLOWED, int(further))

    def is_over(self, seen: Seen) -> bool:
        """Return whether no pair may meet again, even if the answer depends on it.

        Args:
            seen: what was measured so far.
        """
        count = np.minimum(seen.passes, seen.passes.T)
        is_lost = self._is_tried & (count == 0)
        may_be_tried_twice = self.number + 1 == WHOLE_PASSES <= self._options.most
        may = np.triu(self._met < self._limit, 1) & ~is_lost
        return not may_be_tried_twice and not may.any()

    def next(
        self, seen: Seen, hinges: Collection[Pair] = (), *, is_settled: bool = False
    ) -> Rounds:
        """Return rounds of the next pass; none if no more are needed.

        Args:
            seen: what was measured so far.
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
            urgency = self._within_budget(urgency)
        urgency[owed | self._again(is_lost & self._scope, count)] = _OWED
        chosen = np.argwhere(urgency > 0.0)
        self._met[urgency > 0.0] += 1
        self._is_tried |= urgency > 0.0
        pairs = [(int(i), int(j)) for i, j in chosen]
        return arrange_rounds(size, pairs, (self._options.seed, self.number))

    def _disagreement(self, seen: Seen) -> Matrix:
        """Return how far each pair's passes disagree, (N, N) upper triangle; 0 where they agree."""
        share = disagreement(seen.halves_us)
        share = np.nan_to_num(np.fmax(share, share.T))
        if self._options.precision_percent == 0.0:
            return np.triu(share + 1.0, 1)
        least = np.fmin(*seen.halves_us)
        apart = np.nan_to_num(np.fmax(least, least.T) / np.fmin(least, least.T) - 1.0, posinf=1.0)
        is_apart = (apart > _MOST_APART) & self._is_tried
        is_unsure = share > self._options.precision_percent / 100.0
        return np.triu(np.where(is_unsure | is_apart, np.fmax(share, apart), 0.0), 1)

    def _within_budget(self, urgency: Matrix) -> Matrix:
        """Return the most urgent pairs, as many as the remaining budget allows."""
        wanted = np.flatnonzero(urgency)
        wanted = wanted[np.argsort(-urgency.ravel()[wanted], kind="stable")][: self._left]
        self._left -= len(wanted)
        kept = np.zeros(urgency.size)
        kept[wanted] = urgency.ravel()[wanted]
        return kept.reshape(urgency.shape)

    def _again(self, lost: Mask, count: Counts) -> Mask:
        """Return the pairs lost in the first pass that are worth a second try.

        That is where both hosts were heard by others, and at most as many as there are hosts: a
        silent one is waited for.
        """
        again = np.zeros(lost.shape, dtype=np.bool_)
        if self.number == WHOLE_PASSES and self._options.most >= WHOLE_PASSES:
            heard: Mask = np.asarray((count > 0).any(axis=1))
            worth = np.argwhere(lost & heard[:, None] & heard[None, :])[: len(lost)]
            again[tuple(worth.T)] = True
        return again


def arrange_rounds(hosts: int, pairs: Iterable[Pair], seed: tuple[int, int]) -> Rounds:
    """Return pairs as rounds of disjoint pairs, in an order that depends on the seed.

    They are those of a round robin of the `hosts` hosts in which each has a seat by chance, the
    rounds and the pairs of each shuffled, so that a pair's neighbours in time are others.
    """
    chance = np.random.default_rng(seed)
    seat = chance.permutation(hosts)
    rounds: dict[int, list[Pair]] = {}
    for i, j in pairs:
        rounds.setdefault(round_of(hosts, (int(seat[i]), int(seat[j]))), []).append((i, j))
    numbers = sorted(rounds)
    return [
        [rounds[numbers[k]][m] for m in chance.permutation(len(rounds[numbers[k]]))]
        for k in chance.permutation(len(numbers))
    ]
